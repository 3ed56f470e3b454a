// `stream in` and `stream out`: the statements and the functions, and host_load and host_store.
#include <fmt/format.h>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/declarations.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/graph_statements.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {
namespace {

Value make_stream(Interpreter& in, const Arguments& args, const char* where, bool to_device) {
  ArgReader a(where, args, {"shape", "dtype", "name"});
  Value first = a.value("shape");
  TensorSpec spec;
  if (first.as_spec()) {
    spec = *first.as_spec();
    if (a.has("dtype")) spec.dtype = to_dtype(a.value("dtype"), where);
  } else {
    spec.shape = to_shape(first, where);
    if (!a.has("dtype"))
      throw Error(std::string(where) + " needs a dtype: `" + where + "(float32[2, 4])` or `" + where +
                  "([2, 4], float32)`")
          .as(codes::initial_value);
    spec.dtype = to_dtype(a.value("dtype"), where);
  }
  BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  Stream& s = target.ir->add_stream(spec, a.string_or("name", where), to_device);
  return make_ref<StreamObject>(target.ir, &s);
}

Stream& to_stream(const Value& v, bool to_device, const std::shared_ptr<Ir>& ir, const char* where) {
  auto* s = v.as<StreamObject>();
  if (!s) type_error(std::string(where) + " takes a stream, got " + with_article(v.type_name()));
  check_in_effect(where, *s->stream->handle);
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
  BuildTarget target = graphs_of(in).target();
  const std::string what = "what stream `" + stream.name() + "` stores";
  Tensor* t = to_operand(in, v, stream.spec(), what);
  if (t->graph != target.graph)
    throw Error("tensor `" + shown_name(*t) + "` is not in the graph that is being built: it can't be stored here")
        .as(codes::other_graph);
  if (t->spec.shape != stream.spec().shape || t->spec.dtype != stream.spec().dtype)
    throw Error("host_store: stream `" + stream.name() + "` is " + text(stream.spec()) + ", but `" + shown_name(*t) +
                "` is " + text(t->spec))
        .as(codes::stream);
  stamp(in, *target.ir);
  target.graph->add_host_store(stream, t);
}

}  // namespace

void declare_stream(Interpreter& in, const ast::StreamStmt& s, Activation& a) {
  position_of(in).here = s.span;
  BuildTarget at = graphs_of(in).target();
  auto& known = graphs_of(in).world().of(at.ir).streams;
  std::optional<TensorSpec> spec;
  if (s.spec) spec = declared_spec(in, *s.spec, a, "the spec of a stream");
  Value value;
  if (s.value) {
    value = evaluate(in, *s.value, a);
    if (value.is_none()) type_error("stream out " + s.name + ": a tensor is stored, got none");
  }
  position_of(in).here = s.span;
  if (!spec) {
    if (!s.value || s.is_input)
      throw Error("stream " + std::string(s.is_input ? "in " : "out ") + s.name + " needs a spec",
                  {"write `stream " + std::string(s.is_input ? "in " : "out ") + s.name + ": float32[...]`" +
                   (s.is_input ? "" : ", or give it a tensor")})
          .as(codes::stream);
    if (as_tensor(value))
      spec = as_tensor(value)->spec;
    else
      spec = narrowed(to_array(in, value), "stream out " + s.name).spec();
  }
  const std::string what = s.is_input ? "stream in" : "stream out";
  Stream* stream = nullptr;
  if (auto it = known.find(ast::held<ast::Stmt>(s)); it != known.end()) {
    stream = it->second;
    if (stream->spec().shape != spec->shape || stream->spec().dtype != spec->dtype)
      throw Error(what + " " + s.name + " is reached again with another spec: " + text(stream->spec()) + " before, " +
                      text(*spec) + " now",
                  {"a stream has one spec: declare a stream for each"})
          .as(codes::stream);
  } else {
    declare_once(in, at.ir, s, s.name, s.name_span, true, what.c_str());
    stamp(in, *at.ir);
    stream = &at.ir->add_stream(*spec, s.name, s.is_input);
    known[ast::held<ast::Stmt>(s)] = stream;
    graphs_of(in).world().of(at.ir).add_declared(s.name, s,
                                                 {stream->handle, true, s.name_span, position_of(in).frames});
  }
  const Value object = make_ref<StreamObject>(at.ir, stream);
  observed(check_in_progress(in), s.name_span, object);
  a.scope->bind(s.name, object);
  if (s.value) store(in, *stream, value);
}

void bind_stream_builtins(Scope& p) {
  define(p, no_effects, "h2d_stream", "h2d_stream(shape, dtype, name = \"h2d_stream\")",
         "A stream from the host to the device.",
         [](Interpreter& in, Arguments args) { return make_stream(in, args, "h2d_stream", true); });
  define(p, no_effects, "d2h_stream", "d2h_stream(shape, dtype, name = \"d2h_stream\")",
         "A stream from the device to the host.",
         [](Interpreter& in, Arguments args) { return make_stream(in, args, "d2h_stream", false); });
  define(p, no_effects, "host_load", "host_load(stream, name = none)", "The next sample of a stream, as a tensor.",
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("host_load", args, {"stream", "name"});
           BuildTarget target = graphs_of(in).target();
           Stream& s = to_stream(a.value("stream"), true, target.ir, "host_load");
           stamp(in, *target.ir);
           return tensor_value(target.ir, target.graph->add_host_load(s, a.string_or("name", s.name()))->outputs.at(0));
         });
  define(p, no_effects, "host_store", "host_store(stream, t)",
         "Sends a tensor to the host as the stream's next sample.", [](Interpreter& in, Arguments args) -> Value {
           ArgReader a("host_store", args, {"stream", "t"});
           Stream& s = to_stream(a.value("stream"), false, graphs_of(in).target().ir, "host_store");
           store(in, s, a.value("t"));
           return {};
         });
}

}  // namespace pxl
