// The tensors by which derivatives are taken, and the gradients that a call adds.
#include "interpreter/graphs/derivatives/wanted.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/transform/autodiff.hpp"

namespace pxl {

Unused to_unused(const ArgReader& a) {
  const std::string text = a.string_or("unused", "error");
  if (text == "error") return Unused::error;
  if (text == "zero") return Unused::zero;
  if (text == "none") return Unused::none;
  throw Error("grad: `unused` is \"error\", \"zero\" or \"none\", got \"" + text + "\"").as(codes::value);
}

namespace {
bool is_selector(const Value& v) { return v.as_string() || (v.is_int() && !v.is_bool()); }
}  // namespace

bool selects_arguments(const Value& wrt) {
  if (is_selector(wrt)) return true;
  auto* list = wrt.as<SequenceObject>();
  return list && !list->items.empty() && std::all_of(list->items.begin(), list->items.end(), is_selector);
}

std::vector<Wanted> wanted_tensors(Interpreter& in, const Value& wrt, const char* where) {
  auto* bound = wrt.as<BoundGraphObject>();
  const auto* list = wrt.as<SequenceObject>();
  std::vector<Wanted> wanted;
  for (const auto& [path, leaf] : bound ? bound->vars->leaves() : tree_leaves(in, wrt)) {
    Tensor* t = as_tensor(leaf);
    if (!t)
      type_error(fmt::format("{}: {} is no tensor, but {}", where,
                             path.empty() ? "what is wanted" : fmt::format("`{}` of what is wanted", path),
                             with_article(leaf.type_name())));
    const bool is_item = path.empty() || (list && path.find('.') == path.npos);
    wanted.push_back({is_item ? t->name : path, path, t, {}});
  }
  return wanted;
}

std::vector<Wanted> resolve_wanted(Interpreter& in, const FunctionCall& call, const Value& f, const Value& wrt,
                                   bool& whole) {
  std::vector<Wanted> wanted;
  whole = false;
  const bool of_vars = wrt.is_none() && f.as<BoundGraphObject>() && !f.as<BoundGraphObject>()->vars->items.empty();
  const bool of_params = wrt.is_none() && f.as<ModuleInstance>();
  if (of_params) {
    for (const auto& [input, outer] : call.callable.inputs)
      if (Tensor* t = as_tensor(outer); t && !t->key.empty() && !is_state(in, t))
        wanted.push_back({t->key, t->key, t, {}});
    std::sort(wanted.begin(), wanted.end(), [](const Wanted& x, const Wanted& y) { return x.name < y.name; });
  } else if (wrt.is_none() ? !of_vars : selects_arguments(wrt)) {
    std::vector<Value> selectors;
    if (wrt.is_none())
      selectors.emplace_back(int64_t{0});
    else if (wrt.as<SequenceObject>())
      selectors = elements_of(in, wrt);
    else
      selectors.push_back(wrt);
    const bool alone = !wrt.as<SequenceObject>();
    for (size_t i = 0; i < selectors.size(); ++i) {
      const Value& s = selectors[i];
      const size_t before = wanted.size();
      for (const FunctionCall::Given& g : call.given) {
        const bool meant = s.is_int() ? static_cast<size_t>(s.as_int()) == g.position : *s.as_string() == g.argument;
        if (!meant) continue;
        const std::string name = g.argument.empty() ? std::to_string(g.position) : g.argument;
        const auto below = [&](const std::string& top) {
          return g.path.empty() ? top : alone ? g.path : top + "." + g.path;
        };
        wanted.push_back({below(name), below(std::to_string(i)), as_tensor(g.tensor), {g.slot}});
        whole = alone && g.path.empty();
      }
      if (wanted.size() > before) continue;
      std::vector<std::string> names;
      for (const FunctionCall::Given& g : call.given) names.push_back(g.argument);
      const std::string text = repr_of(in, s);
      const std::string hint = s.as_string() ? did_you_mean(*s.as_string(), names) : std::string();
      throw Error("grad: no tensor was given for the argument " + text + (hint.empty() ? "" : "; " + hint),
                  {"a gradient is of tensors, arrays and floats"})
          .as(codes::gradient);
    }
    return wanted;
  } else {
    whole = as_tensor(wrt) != nullptr;
    wanted = wanted_tensors(in, of_vars ? f : wrt, "grad");
  }
  for (Wanted& w : wanted) {
    w.tensor = reached(in, w.tensor);
    for (size_t slot = 0; slot < call.op->inputs.size(); ++slot) {
      const auto is_given = [&](const FunctionCall::Given& g) { return g.slot == slot; };
      const bool argument = std::any_of(call.given.begin(), call.given.end(), is_given);
      if (!argument && call.op->inputs[slot] == w.tensor) w.slots.push_back(slot);
    }
  }
  return wanted;
}

std::vector<std::string> result_paths(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph& graph) {
  const GraphFacts& facts = facts_of(in, ir, &graph);
  const size_t n = result_outputs(graph);
  std::vector<std::string> paths;
  if (facts.form == ResultForm::single) return {""};
  if (facts.form == ResultForm::tree)
    for (const auto& [path, leaf] : tree_leaves(in, facts.result)) paths.push_back(path);
  for (size_t i = paths.size(); i < n; ++i) paths.push_back(std::to_string(i));
  return paths;
}

std::vector<Value> gradients_by_path(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph& graph,
                                     const Value& dict, const char* where) {
  const std::vector<std::string> paths = result_paths(in, ir, graph);
  std::vector<Value> given(paths.size());
  for (auto& [path, leaf] : tree_leaves(in, dict)) {
    const auto at = std::ranges::find(paths, path);
    if (at == paths.end())
      throw Error(fmt::format("{}: {} has no result `{}`; its results: {}", where, shown_name(graph), path,
                              join_texts(paths, ", ")))
          .as(codes::gradient);
    given[static_cast<size_t>(at - paths.begin())] = std::move(leaf);
  }
  return given;
}

void refuse_without_path(const std::string& name, const Tensor& inner, const Tensor& loss) {
  throw Error("grad: `" + name + "` has no path to `" + shown_name(loss) + "`",
              notes_on_lost_gradient(inner, loss, "`unused = \"zero\"` gives zeros, `unused = \"none\"` none"))
      .as(codes::gradient);
}

Tensor* ones_for(Interpreter& in, const Tensor& y) {
  const BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  Array one = Array::repeated(Array::scalar(1.0).cast(y.spec.dtype), y.spec.shape);
  return target.graph->add_constant(std::move(one), "t");
}

Value zeros_like(Interpreter& in, const TensorSpec& spec) {
  const BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  return tensor_value(target.ir, target.graph->add_constant(Array::zeros(spec.dtype, spec.shape), "zeros"));
}

std::vector<Value> gradients_of_call(Interpreter& in, const FunctionCall& call,
                                     const std::vector<Tensor*>& output_grads, const std::vector<Wanted>& wanted,
                                     Unused unused) {
  Graph& graph = *call.callable.graph;
  std::vector<Tensor*> provided;
  for (size_t i = 0; i < output_grads.size(); ++i)
    if (output_grads[i]) provided.push_back(graph.outputs()[i]);
  const std::vector<Tensor*> reachable = differentiable_inputs(graph, provided);
  std::vector<size_t> slots;
  std::vector<std::vector<size_t>> terms(wanted.size());
  for (size_t w = 0; w < wanted.size(); ++w)
    for (size_t slot : wanted[w].slots)
      if (std::find(reachable.begin(), reachable.end(), graph.inputs()[slot]) != reachable.end()) {
        terms[w].push_back(slots.size());
        slots.push_back(slot);
      }
  const bool floats =
      std::any_of(wanted.begin(), wanted.end(), [](const Wanted& w) { return is_floating(w.tensor->spec.dtype); });
  for (size_t w = 0; w < wanted.size(); ++w) {
    const bool is_float = is_floating(wanted[w].tensor->spec.dtype);
    if (!is_float && !floats)
      throw Error("grad: `" + wanted[w].name + "` is " + text(wanted[w].tensor->spec) + ": only floats have gradients")
          .as(codes::gradient);
    if (is_float && terms[w].empty() && unused == Unused::error) {
      if (wanted[w].slots.empty())
        throw Error("grad: the function does not use `" + wanted[w].name + "`",
                    {"`unused = \"zero\"` gives zeros, `unused = \"none\"` none"})
            .as(codes::gradient);
      refuse_without_path(wanted[w].name, *graph.inputs()[wanted[w].slots[0]], *provided[0]);
    }
  }
  std::vector<Tensor*> gradients;
  if (!slots.empty()) gradients = backward_by_slot(*call.op, output_grads, slots).gradients;
  std::vector<Value> out;
  for (size_t w = 0; w < wanted.size(); ++w) {
    if (terms[w].empty()) {
      const bool zero = unused == Unused::zero && is_floating(wanted[w].tensor->spec.dtype);
      out.push_back(zero ? zeros_like(in, wanted[w].tensor->spec) : Value());
      continue;
    }
    Value total = tensor_value(call.callable.ir, gradients[terms[w][0]]);
    for (size_t i = 1; i < terms[w].size(); ++i)
      total = op_by_name(in, "add", total, tensor_value(call.callable.ir, gradients[terms[w][i]]));
    out.push_back(std::move(total));
  }
  return out;
}

Value in_form(const std::shared_ptr<Ir>& ir, const std::vector<Wanted>& wanted, std::vector<Value> gradients,
              bool whole) {
  if (whole) return gradients[0];
  auto out = make_ref<GradientsObject>();
  out->ir = ir;
  for (const Wanted& w : wanted) {
    out->wanted.push_back(w.tensor);
    out->names.push_back(w.name);
    out->paths.push_back(w.path);
  }
  out->gradients = std::move(gradients);
  return Value(out);
}

void note_numbers(LiftedArguments& lifted, const std::vector<Wanted>& wanted, const std::vector<Value>& gradients) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (lifted.numbers.count(wanted[i].tensor) && as_tensor(gradients[i]))
      lifted.number_results.insert(as_tensor(gradients[i]));
}

}  // namespace pxl
