// `stream`, `variable` and `constant`: the statements and the functions, and host_load and host_store.
#include <fmt/format.h>

#include "interpreter/graphs/modules.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/values/internal.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/suggest.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {
namespace {

/// 64-bit host data becomes 32-bit, as every framework of this kind does.
DType narrowed(DType dtype) {
  switch (dtype) {
    case DType::float64: return DType::float32;
    case DType::int64: return DType::int32;
    case DType::uint64: return DType::uint32;
    default: return dtype;
  }
}
Array narrowed(Array a, std::string_view what) { return convert_exactly(a, narrowed(a.dtype()), what); }

void refuse_options(Interpreter& in, const std::vector<ast::Argument>& options, Activation& a, const char* what) {
  for (const ast::Argument& option : options) {
    if (option.kind != ast::Argument::named || option.name != "replica_grouping") {
      std::string hint = did_you_mean(option.name, {"replica_grouping"});
      throw Error(std::string(what) + " has no option `" + option.name + "`" + (hint.empty() ? "" : "; " + hint))
          .as(codes::arguments);
    }
    Value v = in.evaluate(*option.value, a);
    if (!v.is_none()) type_error("replica_grouping takes a replica grouping, got " + v.type_name());
  }
}

Value add_variable(Interpreter& in, Array data, const std::string& name) {
  BuildTarget target = in.target();
  stamp(in, *target.ir);
  return tensor_value(target.ir, target.graph->add_variable(std::move(data), name));
}
Value add_constant(Interpreter& in, Array data, const std::string& name) {
  BuildTarget target = in.target();
  stamp(in, *target.ir);
  return tensor_value(target.ir, target.graph->add_constant(std::move(data), name));
}

Array host_data(Interpreter& in, const ArgReader& a, const char* where) {
  Value data = a.value("data");
  if (const auto spec = unknown_spec(data))
    return Array(a.has("dtype") ? in.to_dtype(a.value("dtype"), where) : narrowed(spec->dtype), spec->shape);
  if (as_tensor(data) || data.as_spec() || data.is_none())
    type_error(std::string(where) + " takes a number, a list or an array, got " + with_article(data.type_name()));
  if (data.as<InitialiserObject>())
    type_error(std::string(where) + " can't know the shape of `" + data.as<InitialiserObject>()->text +
               "`: give it a shape");
  if (a.has("dtype")) {
    const DType dtype = in.to_dtype(a.value("dtype"), where);
    if (!is_float8(dtype)) return in.to_array(data, dtype, where);
    Array array = in.to_array(data);
    if (array.dtype() == dtype) return array;
    return to_float8(array, dtype, a.integer_or("log2_scale", 0), float8_overflow(a));
  }
  Array array = in.to_array(data);
  return a.boolean_or("downcast", true) ? narrowed(std::move(array), where) : array;
}

/// Refuses a second declaration of a name: of streams in one program, since runs give and take data by name; of
/// variables and constants in one body. In the REPL a later input may declare a variable anew.
void declare_once(Interpreter& in, const std::shared_ptr<Ir>& ir, const ast::Stmt& s, const std::string& name,
                  Span place, bool stream, const char* what) {
  const FramePtr& body = in.frames;
  for (const auto& d : in.world().of(ir).declared) {
    if (d.name != name || d.statement == &s) continue;
    if (!(stream && d.stream) && (d.body != body || d.place.file != place.file)) continue;
    Error e(std::string(what) + " " + name + ": the name is declared twice in program " + ir->name(),
            {"first declared at " + place_text(d.place),
             stream && d.stream ? "choose another name; `host_store(" + name + ", t)` stores again to the first one"
                                : "choose another name"});
    e.as(codes::twice).locate(place, in.frames);
    throw e;
  }
}

Value make_stream(Interpreter& in, const Arguments& args, const char* where, bool to_device) {
  ArgReader a(where, args, {"shape", "dtype", "name"});
  Value first = a.value("shape");
  TensorSpec spec;
  if (first.as_spec()) {
    spec = *first.as_spec();
    if (a.has("dtype")) spec.dtype = in.to_dtype(a.value("dtype"), where);
  } else {
    spec.shape = in.to_shape(first, where);
    if (!a.has("dtype"))
      throw Error(std::string(where) + " needs a dtype: `" + where + "(float32[2, 4])` or `" + where +
                  "([2, 4], float32)`")
          .as(codes::initial_value);
    spec.dtype = in.to_dtype(a.value("dtype"), where);
  }
  BuildTarget target = in.target();
  stamp(in, *target.ir);
  Stream& s = target.ir->add_stream(spec, a.string_or("name", where), to_device);
  return std::make_shared<StreamObject>(target.ir, &s);
}

Stream& to_stream(const Value& v, bool to_device, const std::shared_ptr<Ir>& ir, const char* where) {
  auto* s = v.as<StreamObject>();
  if (!s) type_error(std::string(where) + " takes a stream, got " + with_article(v.type_name()));
  if (s->ir != ir)
    throw Error(std::string(where) + ": stream `" + s->stream->name() + "` belongs to program " + s->ir->name())
        .as(codes::other_graph);
  if (s->stream->to_device != to_device)
    throw Error(std::string(where) + ": stream `" + s->stream->name() + "` goes the other way",
                {to_device ? "host_load takes a `stream in`" : "host_store takes a `stream out`"})
        .as(codes::stream);
  return *s->stream;
}

void store(Interpreter& in, Stream& stream, const Value& v) {
  BuildTarget target = in.target();
  const std::string what = "what stream `" + stream.name() + "` stores";
  Tensor* t = to_operand(in, v, stream.spec(), what);
  if (t->graph != target.graph)
    throw Error("tensor `" + t->name + "` is not in the graph that is being built: it can't be stored here")
        .as(codes::other_graph);
  if (t->spec.shape != stream.spec().shape || t->spec.dtype != stream.spec().dtype)
    throw Error("host_store: stream `" + stream.name() + "` is " + text(stream.spec()) + ", but `" + t->name + "` is " +
                text(t->spec))
        .as(codes::stream);
  stamp(in, *target.ir);
  target.graph->add_host_store(stream, t);
}

}  // namespace

std::string place_text(Span span) {
  if (!span) return {};
  const Position at = span.file->position(span.begin);
  return fmt::format("{}:{}:{}", span.file->name(), at.line, at.column);
}

void Interpreter::declare_stream(const ast::StreamStmt& s, Activation& a) {
  here = s.span;
  BuildTarget at = target();
  auto& known = world().of(at.ir).streams;
  std::optional<TensorSpec> spec;
  if (s.spec) spec = to_spec(evaluate(*s.spec, a), "the spec of a stream");
  Value value;
  if (s.value) {
    value = evaluate(*s.value, a);
    if (value.is_none()) type_error("stream out " + s.name + ": a tensor is stored, got none");
  }
  here = s.span;
  if (!spec) {
    if (!s.value || s.is_input)
      throw Error("stream " + std::string(s.is_input ? "in " : "out ") + s.name + " needs a spec",
                  {"write `stream " + std::string(s.is_input ? "in " : "out ") + s.name + ": float32[...]`" +
                   (s.is_input ? "" : ", or give it a tensor")})
          .as(codes::stream);
    if (as_tensor(value))
      spec = as_tensor(value)->spec;
    else
      spec = narrowed(to_array(value), "stream out " + s.name).spec();
  }
  const std::string what = s.is_input ? "stream in" : "stream out";
  Stream* stream = nullptr;
  if (auto it = known.find(&s); it != known.end()) {
    stream = it->second;
    if (stream->spec().shape != spec->shape || stream->spec().dtype != spec->dtype)
      throw Error(what + " " + s.name + " is reached again with another spec: " + text(stream->spec()) + " before, " +
                      text(*spec) + " now",
                  {"a stream has one spec: declare a stream for each"})
          .as(codes::stream);
  } else {
    declare_once(*this, at.ir, s, s.name, s.name_span, true, what.c_str());
    stamp(*this, *at.ir);
    stream = &at.ir->add_stream(*spec, s.name, s.is_input);
    known[&s] = stream;
    world().of(at.ir).declared.push_back({&s, stream->handle, true, s.name, s.name_span, frames});
  }
  const Value object = std::make_shared<StreamObject>(at.ir, stream);
  observed(*this, s.name_span, object);
  a.scope->bind(s.name, object);
  if (s.value) store(*this, *stream, value);
}

void Interpreter::declare_variable(const ast::VariableStmt& s, Activation& a) {
  const bool constant = s.kind == ast::StmtKind::constant;
  const std::string what = (constant ? "constant " : "variable ") + s.name;
  refuse_options(*this, s.options, a, constant ? "constant" : "variable");
  Value init;
  if (s.init) init = evaluate(*s.init, a);
  if (init.is_none())
    throw Error(what + " needs a value", {"write `" + what + ": float32[...] = 0`"}).as(codes::initial_value);
  Array data;
  if (const auto spec = unknown_spec(init); spec && !s.spec)
    data = Array(narrowed(spec->dtype), spec->shape);
  else if (s.spec)
    data = initial_value(*this, init, to_spec(evaluate(*s.spec, a), "the spec of a variable"), what);
  else
    data = narrowed(to_array(init), what);
  here = s.span;
  const std::shared_ptr<Ir> ir = target().ir;
  declare_once(*this, ir, s, s.name, s.name_span, false, constant ? "constant" : "variable");
  const Value made =
      constant ? add_constant(*this, std::move(data), s.name) : add_variable(*this, std::move(data), s.name);
  world().of(ir).declared.push_back({&s, as_tensor(made), false, s.name, s.name_span, frames});
  a.scope->bind(s.name, made);
}

void bind_declaration_builtins(Scope& p) {
  define(p, no_effects, "variable",
         "variable(data, dtype = none, name = \"t\", downcast = true, log2_scale = 0, nan_on_overflow = true)",
         "A tensor of the main graph that keeps its value between runs.", [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("variable", args, {"data", "dtype", "name", "downcast", "log2_scale", "nan_on_overflow"});
           return add_variable(in, host_data(in, a, "variable"), a.string_or("name", "t"));
         });
  define(p, no_effects, "constant",
         "constant(data, dtype = none, name = \"t\", downcast = true, log2_scale = 0, nan_on_overflow = true)",
         "A tensor that never changes, in the graph that is being built.",
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("constant", args, {"data", "dtype", "name", "downcast", "log2_scale", "nan_on_overflow"});
           return add_constant(in, host_data(in, a, "constant"), a.string_or("name", "t"));
         });
  define(p, no_effects, "h2d_stream", "h2d_stream(shape, dtype, name = \"h2d_stream\")",
         "A stream from the host to the device.",
         [](Interpreter& in, Arguments args) { return make_stream(in, args, "h2d_stream", true); });
  define(p, no_effects, "d2h_stream", "d2h_stream(shape, dtype, name = \"d2h_stream\")",
         "A stream from the device to the host.",
         [](Interpreter& in, Arguments args) { return make_stream(in, args, "d2h_stream", false); });
  define(p, no_effects, "host_load", "host_load(stream, name = none)", "The next sample of a stream, as a tensor.",
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("host_load", args, {"stream", "name"});
           BuildTarget target = in.target();
           Stream& s = to_stream(a.value("stream"), true, target.ir, "host_load");
           stamp(in, *target.ir);
           return tensor_value(target.ir, target.graph->add_host_load(s, a.string_or("name", s.name()))->outputs.at(0));
         });
  define(p, no_effects, "host_store", "host_store(stream, t)",
         "Sends a tensor to the host as the stream's next sample.", [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("host_store", args, {"stream", "t"});
           Stream& s = to_stream(a.value("stream"), false, in.target().ir, "host_store");
           store(in, s, a.value("t"));
           return {};
         });
  define(p, no_effects, "add_variable_inputs", "add_variable_inputs(name, factories)",
         "Inputs of the graph that is being built, one for each factory, under a name; gives them as a tree.",
         [](Interpreter& in, Arguments args) { return add_variable_inputs(in, args); });
}

}  // namespace pxl
