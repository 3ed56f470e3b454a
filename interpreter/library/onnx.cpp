// load_onnx and load_arrays, on which the standard module `onnx` is based.
#include "interpreter/library/onnx.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/library/formats.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/onnx/export.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/execute/checkpoints/checkpoint.hpp"
#include "runtime/io/suffix.hpp"

namespace pxl {

namespace {

/// The names that the text of an imported model defines: `Model`, and `weights`.
ScopePtr scope_of_import(Interpreter& in, const onnx::Imported& imported, const std::string& shown) {
  const ast::TreePtr tree = parse_or_throw(add_source(shown, imported.text));
  auto scope = make_ref<Scope>(evaluator_of(in).prelude());
  auto weights = make_ref<DictObject>();
  for (const auto& [name, array] : imported.weights) weights->put(name, array);
  scope->bind("weights", weights);
  Activation a;
  a.scope = scope;
  a.kind = Activation::Kind::file;
  execute(in, *tree->body, a);
  evaluator_of(in).remember(scope);
  return scope;
}

onnx::Imported import_file(const std::string& path) {
  // A look reads the imported file.
  const EffectScope reading(Effect::reads_files);
  const std::string title = std::filesystem::path(path).filename().string();
  return onnx::import_model(onnx::read_model(path), {.title = title, .weights_path = {}});
}

ScopePtr scope_of_file(Interpreter& in, const std::string& path) {
  return scope_of_import(in, import_file(path), "[" + path + "]");
}

}  // namespace

Value evaluate_import(Interpreter& in, const onnx::Imported& imported, const std::string& shown) {
  return *scope_of_import(in, imported, shown)->find_here("Model");
}

void add_onnx_importer(Evaluator& evaluator) { evaluator.importers[".onnx"] = scope_of_file; }

namespace {

/// The module of a model whose weights a look does not read.
Value look_at_model(Interpreter& in, const std::string& path) {
  const bool is_model = std::filesystem::path(path).extension() == ".onnx";
  if (!is_model || !permits(Effect::reads_headers) || check_in_progress(in)->may_have_written) return unknown_value();
  try {
    const onnx::Imported imported = onnx::import_model(
        onnx::read_model_header(path), {.title = std::filesystem::path(path).filename().string(), .weights_path = {}});
    return evaluate_import(in, imported, "[" + path + "]");
  } catch (const Error&) {
    return unknown_value();
  }
}

Value load_onnx(Interpreter& in, const Arguments& args) {
  const std::string path = ArgReader(args).string("path");
  if (!permits(Effect::reads_files)) return look_at_model(in, path);
  return *scope_of_file(in, path)->find_here("Model");
}

/// The value of each tensor that `weights` knows. A session has the values of its program's variables; a dict or a
/// named tree has arrays by name.
std::map<const Tensor*, Array> weights_of(Interpreter& in, const Value& weights, const Graph& graph,
                                          const std::map<const Tensor*, const Tensor*>& bound) {
  std::map<const Tensor*, Array> values;
  const auto give = [&](const std::function<std::optional<Array>(const Tensor&)>& value) {
    for (const auto& t : graph.ir().main().tensors())
      if (t->kind == TensorKind::variable)
        if (auto v = value(*t)) values[t.get()] = *v;
    for (const Tensor* t : graph.inputs()) {
      const auto variable = bound.find(t);
      if (auto v = variable == bound.end() ? value(*t) : value(*variable->second)) values[t] = *v;
    }
  };
  if (const auto* session = weights.as<SessionObject>()) {
    if (session->ir.get() != &graph.ir())
      throw Error("export_onnx: the session is of another program than the graph").as(codes::other_graph);
    give([&](const Tensor& t) -> std::optional<Array> {
      if (t.kind != TensorKind::variable) return {};
      return session->session->get_tensor_data(&t);
    });
  } else if (!weights.is_none()) {
    std::map<std::string, Array> named;
    const Value items = weights.as<TreeObject>() ? invoke(in, member_of(in, weights, "to_dict", {}), {}) : weights;
    const auto* dict = items.as<DictObject>();
    if (!dict)
      type_error("export_onnx: weights are a session, a dict or a named tree of arrays, got " +
                 with_article(weights.type_name()));
    for (const auto& [key, value] : dict->items)
      if (key.as_string()) named.emplace(*key.as_string(), to_array(in, value));
    give([&](const Tensor& t) -> std::optional<Array> {
      const auto found = named.find(t.key.empty() ? t.name : t.key);
      if (found == named.end()) return {};
      if (found->second.spec() != t.spec)
        throw Error(fmt::format("export_onnx: the array for {} is {}, not {}", found->first, text(found->second.spec()),
                                text(t.spec)))
            .as(codes::shape);
      return found->second;
    });
  } else {
    for (const auto& [input, variable] : bound)
      if (variable->kind == TensorKind::variable) values[input] = variable->data;
  }
  return values;
}

Value export_onnx(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const Value what = a.value("graph");
  const std::string path = a.string("path");
  require_suffix("export_onnx", path, ".onnx", "models");
  std::map<const Tensor*, const Tensor*> bound;
  const Graph* graph = nullptr;
  Value holder;
  if (what.as<GraphObject>() || what.as<BoundGraphObject>()) {
    const Callable callable = to_callable(what, "export_onnx");
    graph = callable.graph;
    for (const auto& [input, value] : callable.inputs)
      if (const auto* t = value.as<TensorObject>()) bound[input] = t->tensor;
  } else {
    graph = &to_ir(in, what, "export_onnx", holder)->ir->main();
  }
  std::vector<Array> kept;
  const onnx::Model model = onnx::export_graph(*graph,
                                               {.name = graph->is_main() ? graph->ir().name() : graph->title(),
                                                .weights = weights_of(in, a.value_or("weights", {}), *graph, bound)},
                                               kept);
  write_file_atomically(path, onnx::serialise(model));
  return {};
}

Value load_arrays(Interpreter& in, const Arguments& args) {
  const std::string path = ArgReader(args).string("path");
  if (!permits(Effect::reads_files)) return look_at_checkpoint(in, path);
  auto arrays = make_ref<DictObject>();
  for (NamedArray& a : open_checkpoint(path)) arrays->put(a.name, std::move(a.data));
  return arrays;
}

}  // namespace

void bind_onnx_builtins(Scope& p) {
  define(p, Effect::reads_files,
         {"load_onnx(path)", "The module that an ONNX file is imported as.", R"(from nn import Linear
facts, graph = Linear(3).create_graph(float32[2, 4])
export_onnx(graph.bind(facts.init()), "layer.onnx")
load_onnx("layer.onnx"))"},
         load_onnx, InLook::calls_body);
  define(p, Effect::writes_files,
         {"export_onnx(graph, path, weights = none)",
          "Writes a graph, a bound graph or a program as an ONNX model. `weights` is a session, or arrays by name; by "
          "default "
          "variables have their initial values.",
          R"(from nn import Linear
facts, graph = Linear(3).create_graph(float32[2, 4])
export_onnx(graph.bind(facts.init()), "layer.onnx")
exists("layer.onnx"))"},
         export_onnx);
  define(p, Effect::reads_files,
         {"load_arrays(path)", "The arrays of a safetensors file, by name.", R"(save("a.safetensors", {"w": ones([2])})
load_arrays("a.safetensors")["w"])"},
         load_arrays, InLook::calls_body);
}

}  // namespace pxl
