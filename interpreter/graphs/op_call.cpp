// Calling a row of the op table with values: names and synonyms to parameters, values to operands and attributes,
// and the choice between the graph that is being built and computing at once.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/graph_builder.hpp"
#include "interpreter/graphs/graph_values.hpp"
#include "interpreter/graphs/graphs.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/values/arrays.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/ops/infer.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

// Names that mean one parameter.
bool same_parameter(std::string_view a, std::string_view b) {
  if (a == b) return true;
  auto axis = [](std::string_view s) { return s == "axis" || s == "dim" || s == "axes"; };
  auto keep = [](std::string_view s) { return s == "keepdims" || s == "keepdim"; };
  return (axis(a) && axis(b)) || (keep(a) && keep(b));
}

size_t find_param(const OpRow& row, const NamedArg& named, const FramePtr& frames) {
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (row.params[i].name == named.name) return i;
  }
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (same_parameter(row.params[i].name, named.name)) return i;
  }
  std::vector<std::string> names, notes;
  for (const Param& p : row.params) names.emplace_back(p.name);
  if (std::string hint = did_you_mean(named.name, names); !hint.empty()) notes.push_back(hint);
  notes.push_back("it is " + signature(row));
  Error e(fmt::format("{}: no argument is named `{}`", row.name, named.name), notes);
  e.as(codes::arguments);
  if (named.span) e.locate(named.span, frames);
  throw e;
}

bool takes_list(ParamKind k) { return k == ParamKind::shape || k == ParamKind::integers || k == ParamKind::axes; }

bool is_operand_value(const Value& v) { return v.is_number() || v.as_array() || as_tensor(v); }

// Values by parameter; positional ones of a variadic op, and the ints of `x.reshape(-1, 4)`, are gathered.
std::vector<std::optional<Value>> bind_row(const OpRow& row, Arguments& args, const FramePtr& frames) {
  std::vector<std::optional<Value>> values(row.params.size());
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
    const size_t i = find_param(row, named, frames);
    if (values[i])
      throw Error(fmt::format("{}: argument `{}` was given twice", row.name, named.name)).as(codes::arguments);
    values[i] = std::move(named.value);
  }
  return values;
}

struct OperandWorld {
  bool tensors = false;  ///< some operand is a tensor
  bool arrays = false;   ///< some operand is a host array
  bool any = false;      ///< some operand is given at all
  bool floats = false;   ///< some number is a float
  Tensor* first = nullptr;

  void look(const Value& v, int depth = 0) {
    if (v.is_none()) return;
    any = true;
    if (Tensor* t = as_tensor(v)) {
      tensors = true;
      if (!first) first = t;
    } else if (v.as_array()) {
      arrays = true;
    } else if (v.is_float()) {
      floats = true;
    } else if (auto* s = v.as<SequenceObject>(); s && depth < 32) {
      for (const Value& item : s->items) look(item, depth + 1);
    }
  }
};

class Converter {
 public:
  Converter(Interpreter& in, OpBuilder& at, const OpRow& row, const OperandWorld& world)
      : in_(in), at_(at), row_(row), world_(world) {}

  OpArg convert(const Param& p, const Value& v) const {
    if (v.is_none()) return std::monostate{};
    if (p.kind == ParamKind::tensors) {
      auto* list = v.as<SequenceObject>();
      std::vector<Expr> out;
      // A list of plain numbers is one operand; a list of lists, arrays and tensors several.
      const std::vector<Value> items = list ? list->items : std::vector<Value>{v};
      for (const Value& item : items) out.push_back(as_expr(p, item));
      return out;
    }
    if (is_operand(p.kind)) return operand(p, v);
    return attribute(p, v);
  }

 private:
  [[noreturn]] void refuse(const Param& p, const Value& v, std::string_view expected) const {
    throw Error(fmt::format("{}: `{}`: expected {}, got {}", row_.name, p.name, expected, with_article(v.type_name())),
                v.as_spec() ? std::vector<std::string>{"a spec has no data: give a tensor or an array"}
                            : std::vector<std::string>{})
        .as(codes::type);
  }

  // Host numbers compute in 64 bits, as host arithmetic does; beside arrays and tensors they take their dtype.
  bool plain_numbers() const { return !world_.tensors && !world_.arrays; }
  std::optional<DType> wide() const {
    if (!plain_numbers()) return std::nullopt;
    if (world_.floats || needs_floats(row_.infer)) return DType::float64;
    return DType::int64;
  }

  Array host_array(const Value& v, std::optional<DType> type) const {
    return type ? to_array(in_, v, *type, row_.name) : to_array(in_, v);
  }

  OpArg operand(const Param& p, const Value& v) const {
    if (v.is_bool() && !needs_floats(row_.infer)) return Attr(v.as_bool());
    if (v.is_number() && p.kind == ParamKind::number_or_tensor) return number(v);
    if (v.is_number() && plain_numbers() && p.kind != ParamKind::index) {
      return Expr(at_, host_array(v, wide()));
    }
    if (v.is_number()) return number(v);
    return as_expr(p, v);
  }

  Expr as_expr(const Param& p, const Value& v) const {
    if (Tensor* t = as_tensor(v)) return Expr(at_, t);
    if (const Array* a = v.as_array()) return Expr(at_, *a);
    if (v.is_number()) {
      return Expr(at_, host_array(v, wide()));
    }
    if (v.as<SequenceObject>() || v.as<RangeObject>()) {
      if (mentions_tensor(v)) refuse(p, v, "one tensor");
      const bool only_bools = !world_.floats && is_bool_list(v);
      std::optional<DType> type = p.kind == ParamKind::index ? std::nullopt : wide();
      if (only_bools && !needs_floats(row_.infer)) type.reset();
      return Expr(at_, host_array(v, type));
    }
    refuse(p, v, p.kind == ParamKind::index ? "a tensor or array of ints" : "a tensor, an array or a number");
  }

  static bool is_bool_list(const Value& v) {
    auto* s = v.as<SequenceObject>();
    return s && !s->items.empty() && s->items[0].is_bool();
  }

  static Attr number(const Value& v) {
    if (v.is_bool()) return v.as_bool();
    if (v.is_int()) return v.as_int();
    return v.as_double();
  }

  OpArg attribute(const Param& p, const Value& v) const {
    if (p.kind == ParamKind::dtype) {
      const std::string what = fmt::format("{}: `{}`", row_.name, p.name);
      return Attr(to_dtype(v, what.c_str()));
    }
    if (p.kind == ParamKind::group) {
      const auto* grouping = v.as<ReplicaGroupingObject>();
      if (!grouping) refuse(p, v, "a replica grouping, as `ir.replica_grouping(...)` gives");
      return Attr(grouping->groups);
    }
    if (v.is_number()) return number(v);
    if (const std::string* s = v.as_string()) return Attr(*s);
    if (const DType* d = v.as_dtype()) return Attr(*d);
    if (const Array* a = v.as_array()) return Expr(at_, *a);
    if (const TensorSpec* s = v.as_spec(); s && p.kind == ParamKind::shape) return Attr(s->shape);
    if (Tensor* t = as_tensor(v)) return Expr(at_, t);
    if (v.as<SequenceObject>() || v.as<RangeObject>()) {
      const std::vector<Value> items = elements_of(in_, v);
      const bool floats = std::any_of(items.begin(), items.end(), [](const Value& x) { return x.is_float(); });
      if (floats || p.kind == ParamKind::numbers) {
        std::vector<double> out;
        for (const Value& x : items) {
          if (!x.is_number()) refuse(p, x, "numbers");
          out.push_back(x.as_double());
        }
        return Attr(out);
      }
      std::vector<int64_t> out;
      const std::string what = fmt::format("{}: `{}`", row_.name, p.name);
      for (const Value& x : items) out.push_back(to_index(x, what));
      return Attr(out);
    }
    refuse(p, v, "an attribute");
  }

  Interpreter& in_;
  OpBuilder& at_;
  const OpRow& row_;
  const OperandWorld& world_;
};

OpArgs convert_all(const Converter& converter, const OpRow& row, const std::vector<std::optional<Value>>& values) {
  OpArgs args;
  args.values.resize(row.params.size());
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (values[i]) args.values[i] = converter.convert(row.params[i], *values[i]);
  }
  return args;
}

Value result_of(std::vector<Value> outputs) {
  if (outputs.empty()) return {};
  if (outputs.size() == 1) return outputs[0];
  return make_tuple(std::move(outputs));
}

Value unwrap_host(Array result, bool as_number) {
  if (!as_number || !result.has_elements()) return result;
  if (result.rank() == 0) return element_value(result, 0);
  // Lists of host numbers give arrays of 32 bits, as array([...]) does.
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

Value call_op(Interpreter& in, const OpRow& row, Arguments args) {
  if (check_in_progress(in) && holds_unknown(args)) {
    lacks_part_of(in, args);
    return unknown_value();
  }
  const std::vector<std::optional<Value>> values = bind_row(row, args, position_of(in).frames);
  OperandWorld world;
  bool has_operands = false;
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (!is_operand(row.params[i].kind)) continue;
    has_operands = true;
    if (values[i]) world.look(*values[i]);
  }
  std::vector<Value> outputs;
  if (world.tensors || !has_operands) {
    BuildTarget at = graphs_of(in).target();
    if (world.first && &world.first->graph->ir() != at.ir.get()) {
      throw Error(fmt::format("{}: tensor `{}` belongs to program `{}`, but ops are being added to `{}`", row.name,
                              world.first->name, world.first->graph->ir().name(), at.ir->name()),
                  {"a program's tensors are used in its body, or in a def called from there"})
          .as(codes::other_graph);
    }
    stamp(in, *at.ir);
    GraphOpBuilder builder(*at.graph);
    const OpArgs op_args = convert_all(Converter(in, builder, row, world), row, values);
    for (const Expr& e : builder.emit(row, op_args)) {
      outputs.push_back(e.is_tensor() ? tensor_value(at.ir, e.tensor()) : Value(e.array()));
    }
    return result_of(std::move(outputs));
  }
  // An op with an effect prints: computed at once it would do so now.
  if (row.side_effect && row.exchange != Exchange::members) require_effect(Effect::prints);
  EagerOpBuilder builder;
  const OpArgs op_args = convert_all(Converter(in, builder, row, world), row, values);
  for (const Expr& e : builder.emit(row, op_args)) outputs.push_back(unwrap_host(e.array(), !world.arrays));
  return result_of(std::move(outputs));
}

Value op_by_name(Interpreter& in, std::string_view op, std::vector<Value> operands) {
  const OpRow* row = find_op(op);
  if (!row) throw Error("there is no op " + std::string(op), {}, Fault::internal);
  Arguments args;
  args.span = position_of(in).here;
  args.positional = std::move(operands);
  return call_op(in, *row, std::move(args));
}

// ---- methods and names

std::optional<Value> op_method(const Value& receiver, std::string_view name) {
  const OpRow* row = find_op(name);
  if (!row || !row->method) return std::nullopt;
  auto method = std::make_shared<BuiltinObject>(no_effects, std::string(name), signature(*row), std::string(row->doc),
                                                [receiver, row](Interpreter& in, Arguments args) {
                                                  args.positional.insert(args.positional.begin(), receiver);
                                                  if (!args.spans.empty())
                                                    args.spans.insert(args.spans.begin(), args.span);
                                                  return call_op(in, *row, std::move(args));
                                                });
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
