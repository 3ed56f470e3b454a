// `stream in` and `stream out`: the statements and the functions, and host_load and host_store.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/declarations.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
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
#include "runtime/base/text/join_texts.hpp"
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

namespace {

/// The spec of the value that a stream statement without a spec stores; a tree of specs for a tree.
Value spec_of_stored(Interpreter& in, const ast::StreamStmt& s, const Value& value) {
  if (!s.value || s.is_input)
    throw Error("stream " + std::string(s.is_input ? "in " : "out ") + s.name + " needs a spec",
                {"write `stream " + std::string(s.is_input ? "in " : "out ") + s.name + ": float32[...]`" +
                 (s.is_input ? "" : ", or give it a tensor")})
        .as(codes::stream);
  if (holds_unknown(value)) throw Unevaluated{};
  const auto spec_of = [&](const Value& v, const std::string&) {
    if (as_tensor(v)) return Value(as_tensor(v)->spec);
    return Value(narrowed(to_array(in, v), "stream out " + s.name).spec());
  };
  return holds_tensors(in, value) ? map_tree(in, value, spec_of) : spec_of(value, "");
}

/// The stream for one spec: a new one, or the one that the statement declared when it ran before.
Value declared_stream(Interpreter& in, const ast::StreamStmt& s, const TensorSpec& spec, const std::string& path) {
  const BuildTarget at = graphs_of(in).target();
  auto& known = graphs_of(in).world().of(at.ir).streams;
  const std::string what = s.is_input ? "stream in" : "stream out";
  const std::string name = path.empty() ? s.name : s.name + "." + path;
  const auto key = std::pair(ast::held<ast::Stmt>(s), path);
  if (auto it = known.find(key); it != known.end()) {
    Stream* stream = it->second;
    if (stream->spec().shape != spec.shape || stream->spec().dtype != spec.dtype)
      throw Error(what + " " + name + " is reached again with another spec: " + text(stream->spec()) + " before, " +
                      text(spec) + " now",
                  {"a stream has one spec: declare a stream for each"})
          .as(codes::stream);
    return make_ref<StreamObject>(at.ir, stream);
  }
  declare_once(in, at.ir, s, name, s.name_span, true, what.c_str());
  stamp(in, *at.ir);
  Stream* stream = &at.ir->add_stream(spec, name, s.is_input);
  known[key] = stream;
  graphs_of(in).world().of(at.ir).add_declared(name, s, {stream->handle, true, s.name_span, position_of(in).frames});
  return make_ref<StreamObject>(at.ir, stream);
}

/// Calls `f` with each stream of a tree and the part of another tree that is in its place.
void each_stream(Interpreter& in, const Value& streams, const Value& other, const std::string& what,
                 const std::function<void(const Value& stream, const Value& part)>& f) {
  if (streams.as<StreamObject>()) return f(streams, other);
  const std::vector<TreeLeaf> here = tree_leaves(in, streams), there = tree_leaves(in, other);
  if (!std::ranges::equal(here, there, {}, &TreeLeaf::first, &TreeLeaf::first)) {
    std::vector<std::string> paths, others;
    for (const auto& [path, leaf] : here) paths.push_back(path);
    for (const auto& [path, leaf] : there) others.push_back(path);
    throw Error(fmt::format("{} has the paths {}; got {}", what, join_texts(paths, ", "), join_texts(others, ", ")))
        .as(codes::stream);
  }
  for (size_t i = 0; i < here.size(); ++i) f(here[i].second, there[i].second);
}

/// A tree with the result of `f` for each stream.
Value map_streams(Interpreter& in, const Value& streams, const char* where,
                  const std::function<Value(const Value& stream, const std::string& path)>& f) {
  if (!is_tree(streams)) return f(streams, "");
  if (tree_leaves(in, streams).empty()) type_error(std::string(where) + " takes a stream or a tree of streams");
  return map_tree(in, streams, f);
}

}  // namespace

void declare_stream(Interpreter& in, const ast::StreamStmt& s, Activation& a) {
  position_of(in).here = s.span;
  Value spec, value;
  if (s.spec) spec = declared_specs(in, *s.spec, a, "the spec of a stream");
  if (s.value) {
    value = evaluate(in, *s.value, a);
    if (value.is_none()) type_error("stream out " + s.name + ": a tensor is stored, got none");
  }
  position_of(in).here = s.span;
  if (!s.spec) spec = spec_of_stored(in, s, value);
  const Value object = map_streams(in, spec, "stream", [&](const Value& one, const std::string& path) {
    return declared_stream(in, s, *one.as_spec(), path);
  });
  observed(check_in_progress(in), s.name_span, object);
  a.scope->bind(s.name, object);
  if (s.value)
    each_stream(in, object, value, "stream out " + s.name,
                [&](const Value& stream, const Value& part) { store(in, *stream.as<StreamObject>()->stream, part); });
}

void bind_stream_builtins(Scope& p) {
  define(p, no_effects,
         {"h2d_stream(shape, dtype, name = \"h2d_stream\")", "A stream from the host to the device.", R"(program p {
  x = h2d_stream([2], float32, name = "x")
  stream out y = host_load(x) + 1
}
Session(p()).run(x = [1, 2]))"},
         [](Interpreter& in, Arguments args) { return make_stream(in, args, "h2d_stream", true); });
  define(p, no_effects,
         {"d2h_stream(shape, dtype, name = \"d2h_stream\")", "A stream from the device to the host.", R"(program p {
  y = d2h_stream([2], float32, name = "y")
  host_store(y, constant([1.0, 2.0]))
}
Session(p()).run())"},
         [](Interpreter& in, Arguments args) { return make_stream(in, args, "d2h_stream", false); });
  define(p, no_effects,
         {"host_load(stream, name = none)",
          "The next sample of a stream, as a tensor; of a tree of streams, a tree of tensors.", R"(program p {
  stream in x: float32[2]
  stream out y = host_load(x) * 10
}
Session(p()).run(x = [1, 2]))"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           const std::string name = a.string_or("name", "");
           return map_streams(in, a.value("stream"), "host_load", [&](const Value& one, const std::string& path) {
             BuildTarget target = graphs_of(in).target();
             Stream& s = to_stream(one, true, target.ir, "host_load");
             stamp(in, *target.ir);
             const std::string named = name.empty() ? s.name() : path.empty() ? name : name + "." + path;
             return tensor_value(target.ir, target.graph->add_host_load(s, named)->outputs.at(0));
           });
         });
  define(
      p, no_effects,
      {"host_store(stream, t)",
       "Sends a tensor to the host as the stream's next sample; to a tree of streams a tree of tensors.", R"(program p {
  y = d2h_stream([2], float32, name = "y")
  host_store(y, constant([1.0, 2.0]) * 3)
}
Session(p()).run())"},
      [](Interpreter& in, Arguments args) -> Value {
        ArgReader a(args);
        const Value streams = a.value("stream");
        if (!is_tree(streams)) to_stream(streams, false, graphs_of(in).target().ir, "host_store");
        each_stream(in, streams, a.value("t"), "host_store: the tree of streams",
                    [&](const Value& one, const Value& part) {
                      store(in, to_stream(one, false, graphs_of(in).target().ir, "host_store"), part);
                    });
        return {};
      });
}

}  // namespace pxl
