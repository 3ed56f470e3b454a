// Calls a row of the op table with values. It maps names and synonyms to parameters, and values to operands and
// attributes. Then it adds the op to the graph that is being built, or computes at once.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/call_cache.hpp"
#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/ops/op_habits.hpp"
#include "interpreter/graphs/ops/op_operands.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/values/argument_names.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/ops/eager_program.hpp"
#include "runtime/ops/infer.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

// Whether two names mean one parameter.
bool same_parameter(std::string_view a, std::string_view b) {
  if (a == b) return true;
  auto axis = [](std::string_view s) { return s == "axis" || s == "dim" || s == "axes"; };
  auto keep = [](std::string_view s) { return s == "keepdims" || s == "keepdim"; };
  return (axis(a) && axis(b)) || (keep(a) && keep(b));
}

size_t find_param(const OpRow& row, const NamedArg& named, const Arguments& args, size_t by_position,
                  const FramePtr& frames) {
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (row.params[i].name == named.name) return i;
  }
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (same_parameter(row.params[i].name, named.name)) return i;
  }
  std::vector<std::string> names;
  for (const Param& p : row.params) names.emplace_back(p.name);
  const auto taken = names.begin() + static_cast<std::ptrdiff_t>(std::min(by_position, names.size()));
  Error e(fmt::format("{}: no argument is named `{}`", row.name, named.name), {"it is " + signature(row)});
  explain_unknown_argument(e, named, names, args, {names.begin(), taken});
  e.as(codes::arguments);
  if (named.span) e.locate(named.span, frames);
  throw e;
}

bool takes_list(ParamKind k) { return k == ParamKind::shape || k == ParamKind::integers || k == ParamKind::axes; }

bool is_operand_value(const Value& v) { return v.is_number() || v.as_array() || as_tensor(v); }

// Values by parameter; positional ones of a variadic op, and the ints of `x.reshape(-1, 4)`, are gathered.
// `places` gets where each value is written, if that is one argument.
std::vector<std::optional<Value>> bind_row(const OpRow& row, Arguments& args, const FramePtr& frames,
                                           std::vector<Span>& places) {
  std::vector<std::optional<Value>> values(row.params.size());
  places.resize(row.params.size());
  std::vector<Value> positional = std::move(args.positional);
  size_t param = 0, next = 0;
  if (is_variadic(row) && !positional.empty()) {
    if (positional[0].as<SequenceObject>()) {
      values[0] = positional[next++];
    } else {
      std::vector<Value> operands;
      while (next < positional.size() && is_operand_value(positional[next])) operands.push_back(positional[next++]);
      values[0] = make_list(std::move(operands));
    }
    param = 1;
  }
  for (; next < positional.size() && param < row.params.size(); ++param) {
    const bool last_list = takes_list(row.params[param].kind) && positional[next].is_int() &&
                           (param + 1 == row.params.size() || (positional.size() - next > row.params.size() - param)) &&
                           std::all_of(positional.begin() + static_cast<std::ptrdiff_t>(next), positional.end(),
                                       [](const Value& v) { return v.is_int(); });
    if (last_list && positional.size() - next > 1) {
      values[param] = make_list({positional.begin() + static_cast<std::ptrdiff_t>(next), positional.end()});
      next = positional.size();
    } else {
      if (next < args.spans.size()) places[param] = args.spans[next];
      values[param] = positional[next++];
    }
  }
  if (next < positional.size()) {
    throw Error(fmt::format("{}: takes at most {} argument{}, got {}", row.name, row.params.size(),
                            row.params.size() == 1 ? "" : "s", positional.size()),
                {"it is " + signature(row)})
        .as(codes::arguments);
  }
  for (NamedArg& named : args.named) {
    const size_t i = find_param(row, named, args, positional.size(), frames);
    if (values[i])
      throw Error(fmt::format("{}: argument `{}` was given twice", row.name, named.name)).as(codes::arguments);
    values[i] = std::move(named.value);
    places[i] = named.span;
  }
  return values;
}

Value result_of(std::vector<Value> outputs) {
  if (outputs.empty()) return {};
  if (outputs.size() == 1) return outputs[0];
  return make_tuple(std::move(outputs));
}

Value unwrap_host(Array result, bool as_number) {
  if (!as_number || !result.has_elements()) return result;
  if (result.rank() == 0) return element_value(result, 0);
  // A list with host numbers becomes an array of 32 bits, as in array([...]).
  if (result.dtype() == DType::float64) return result.cast(DType::float32);
  if (result.dtype() == DType::int64) {
    for (int64_t i = 0; i < result.size(); ++i) {
      if (result.integer(i) > INT32_MAX || result.integer(i) < INT32_MIN) return result;
    }
    return result.cast(DType::int32);
  }
  return result;
}

}  // namespace

bool mentions_tensor(const Value& v) {
  OperandWorld world;
  world.look(v);
  return world.tensors;
}

namespace {

/// A call, as the cache of this thread knows it. A look omits elements and has no cache.
struct KeyedCall {
  CallKey key;
  CallCache* cache;
  CallCache::Entry* entry = nullptr;  ///< gets a program, if the call is made in the general way

  KeyedCall(Interpreter& in, const OpRow& row)
      : key(row), cache(check_in_progress(in) || current_budget() ? nullptr : &CallCache::of_thread()) {}

  /// Call it when all arguments have been read. Returns the result if the cache has a program for such calls.
  std::optional<Value> run() {
    if (!cache || !key) return std::nullopt;
    entry = &cache->find(key);
    if (entry->refused) return entry = nullptr, std::nullopt;
    if (!entry->program) {
      entry->refused = !EagerRecorder::are_recordable(key.arrays());
      if (entry->refused) entry = nullptr;
      return std::nullopt;
    }
    const EagerProgram& program = *entry->program;
    std::vector<Array>& results = cache->scratch();
    try {
      program.run(key.arrays(), results);
    } catch (const Error&) {  // raised again in the general way, with the names of the call
      return entry = nullptr, std::nullopt;
    }
    if (program.outputs() == 1) return Value(program.take_output(0, key.arrays(), results));
    std::vector<Value> outputs;
    for (size_t i = 0; i < program.outputs(); ++i) outputs.emplace_back(program.take_output(i, key.arrays(), results));
    return result_of(std::move(outputs));
  }
};

/// Makes a call without the cache.
Value convert_and_call(Interpreter& in, const OpRow& row, Arguments args, const KeyedCall& call) {
  read_op_habits(in, row, args);
  std::vector<Span> places;
  const std::vector<std::optional<Value>> values = bind_row(row, args, position_of(in).frames, places);
  OperandWorld world;
  bool has_operands = false;
  for (size_t i = 0; i < row.params.size(); ++i) {
    // A number that takes part as an element also turns plain numbers into floats.
    if (row.params[i].kind == ParamKind::element && values[i]) world.floats = world.floats || values[i]->is_float();
    if (!is_operand(row.params[i].kind)) continue;
    has_operands = true;
    if (values[i]) world.look(*values[i]);
  }
  std::vector<Value> outputs;
  if (world.tensors || !has_operands) {
    BuildTarget at = graphs_of(in).target();
    if (world.first) check_in_effect(row.name, *world.first);
    if (world.first && &world.first->graph->ir() != at.ir.get()) {
      throw Error(
          fmt::format("{}: tensor `{}` belongs to program `{}`, but ops are being added to `{}`", row.name,
                      world.first->name, world.first->graph->ir().name(), at.ir->name()),
          {"a program's tensors are used in its body, or in a def called from there; variables that a graph here is "
           "bound to are shared: `graph.bind(tree)`"})
          .as(codes::other_graph);
    }
    stamp(in, *at.ir);
    GraphOpBuilder builder(*at.graph);
    const OpArgs op_args = convert_all(in, builder, row, world, values, places);
    for (const Expr& e : builder.emit(row, op_args)) {
      outputs.push_back(e.is_tensor() ? tensor_value(at.ir, e.tensor()) : Value(e.array()));
    }
    if (const CheckState* check = check_in_progress(in); check && check->before_run) current_budget()->begin_part();
    return result_of(std::move(outputs));
  }
  // An op with an effect prints, and would do so now if it is computed at once.
  if (row.side_effect && row.exchange != Exchange::members) require_effect(Effect::prints);
  EagerRecorder recorder(call.key.arrays());
  if (!world.arrays) recorder.refuse();  // whether results are numbers depends on them
  EagerOpBuilder builder(call.entry ? &recorder : nullptr);
  const OpArgs op_args = convert_all(in, builder, row, world, values, places);
  std::vector<Array> arrays;
  for (const Expr& e : builder.emit(row, op_args)) arrays.push_back(e.array());
  if (call.entry) {
    call.entry->program = recorder.finish(arrays);
    call.entry->refused = !call.entry->program;
  }
  for (Array& a : arrays) outputs.push_back(unwrap_host(std::move(a), !world.arrays));
  return result_of(std::move(outputs));
}

}  // namespace

namespace {

/// An op on arrays whose specs alone are known, in a look. Empty if another argument is unknown.
std::optional<Value> call_with_specs(Interpreter& in, const OpRow& row, Arguments args) {
  const auto stand_in = [](Value& v) {
    if (const auto spec = unknown_spec(v)) v = Value(Array::unevaluated(spec->dtype, spec->shape));
    return !holds_unknown(v) && !mentions_tensor(v);
  };
  for (Value& v : args.positional)
    if (!stand_in(v)) return std::nullopt;
  for (NamedArg& n : args.named)
    if (!stand_in(n.value)) return std::nullopt;
  try {
    const KeyedCall call(in, row);
    const Value made = convert_and_call(in, row, std::move(args), call);
    if (const Array* array = made.as_array()) return unknown_array(array->spec());
  } catch (const Unevaluated&) {
  } catch (const Error& e) {
    if (depends_on_specs(e)) throw;
  }
  return std::nullopt;
}

}  // namespace

Value call_op(Interpreter& in, const OpRow& row, Arguments args) {
  if (check_in_progress(in) && holds_unknown(args)) {
    if (std::optional<Value> made = call_with_specs(in, row, args)) return *std::move(made);
    lacks_part_of(in, args);
    return unknown_value();
  }
  KeyedCall call(in, row);
  for (const Value& v : args.positional) call.key.read(v);
  for (const NamedArg& arg : args.named) call.key.read(arg);
  if (std::optional<Value> known = call.run()) return std::move(*known);
  return convert_and_call(in, row, std::move(args), call);
}

Value op_by_name(Interpreter& in, std::string_view op, std::vector<Value> operands) {
  Arguments args;
  args.span = position_of(in).here;
  args.positional = std::move(operands);
  return call_op(in, get_op(op), std::move(args));
}

Value op_by_name(Interpreter& in, std::string_view op, const Value& a, const Value& b) {
  if (check_in_progress(in)) return op_by_name(in, op, {a, b});  // parts of the operands may be unknown
  const OpRow& row = get_op(op);
  KeyedCall call(in, row);
  call.key.read(a);
  call.key.read(b);
  if (std::optional<Value> known = call.run()) return std::move(*known);
  Arguments args;
  args.span = position_of(in).here;
  args.positional = {a, b};
  return convert_and_call(in, row, std::move(args), call);
}

// ---- methods and names

const OpRow* find_op_method(std::string_view name) {
  const OpRow* row = find_op(name);
  return row && row->method ? row : nullptr;
}

Value call_op_method(Interpreter& in, const OpRow& row, const Value& receiver, Arguments args) {
  KeyedCall call(in, row);
  call.key.read(receiver);
  for (const Value& v : args.positional) call.key.read(v);
  for (const NamedArg& arg : args.named) call.key.read(arg);
  if (std::optional<Value> known = call.run()) return std::move(*known);
  args.positional.insert(args.positional.begin(), receiver);
  if (!args.spans.empty()) args.spans.insert(args.spans.begin(), args.span);
  return check_in_progress(in) ? call_op(in, row, std::move(args)) : convert_and_call(in, row, std::move(args), call);
}

std::optional<Value> op_method(const Value& receiver, std::string_view name) {
  const OpRow* row = find_op_method(name);
  if (!row) return std::nullopt;
  auto method = make_ref<BuiltinObject>(
      no_effects, std::string(name), FunctionTexts{signature(*row), std::string(row->doc), {}},
      [receiver, row](Interpreter& in, Arguments args) { return call_op_method(in, *row, receiver, std::move(args)); });
  method->kind = BuiltinObject::Kind::op;
  return Value(std::move(method));
}

std::vector<std::string> op_method_names() {
  std::vector<std::string> names;
  for (const OpRow* row : op_table()) {
    if (row->method) names.emplace_back(row->name);
  }
  return names;
}

}  // namespace pxl
