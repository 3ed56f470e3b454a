#include "runtime/transform/recompute.hpp"
#include "runtime/graph/shown_names.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/differentiator.hpp"

namespace pxl {

namespace {

/// "Net_subgraph(0)_bwd" becomes "Net_bwd_recomp".
std::string recompute_title(const Graph& gradient) {
  std::string title = gradient.id();
  const size_t begin = title.find("_subgraph(");
  const size_t end = begin == std::string::npos ? begin : title.find(')', begin);
  if (end != std::string::npos) title.erase(begin, end + 1 - begin);
  return title + "_recomp";
}

std::vector<Tensor*> by_name(std::vector<Tensor*> tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const Tensor* a, const Tensor* b) { return a->name < b->name; });
  return tensors;
}

bool uses_streams(const Graph& graph, std::unordered_set<const Graph*>& seen) {
  if (!seen.insert(&graph).second) return false;
  return std::any_of(graph.ops().begin(), graph.ops().end(), [&](const auto& op) {
    return op->stream || std::any_of(op->called.begin(), op->called.end(),
                                     [&](const Graph* callee) { return uses_streams(*callee, seen); });
  });
}

}  // namespace

bool uses_streams(const Graph& graph) {
  std::unordered_set<const Graph*> seen;
  return uses_streams(graph, seen);
}

namespace {

/// Whether a text fits a pattern, in which `*` stands for any text.
bool fits(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*') return !text.empty() && text[0] == pattern[0] && fits(pattern.substr(1), text.substr(1));
  for (size_t skip = 0; skip <= text.size(); ++skip)
    if (fits(pattern.substr(1), text.substr(skip))) return true;
  return false;
}

bool is_activation(const GradGraphInfo& info, const ExpectedConnection& c) {
  const auto& inputs = info.forward_graph->inputs();
  return c.type == ConnectionType::fwd && std::find(inputs.begin(), inputs.end(), c.fwd_tensor) == inputs.end();
}

void check_patterns(const GradGraphInfo& info, const std::vector<std::string>& save) {
  std::vector<std::string> names;
  for (const ExpectedConnection& c : info.expected_inputs)
    if (is_activation(info, c)) names.push_back("`" + c.fwd_tensor->name + "`");
  for (const std::string& pattern : save) {
    const auto is_fitting = [&](const ExpectedConnection& c) {
      return is_activation(info, c) && fits(pattern, c.fwd_tensor->name);
    };
    if (std::any_of(info.expected_inputs.begin(), info.expected_inputs.end(), is_fitting)) continue;
    throw Error("recompute: no value that the gradient needs has a name like `" + pattern + "`",
                {"it needs " + (names.empty() ? std::string("none but the arguments") : join_texts(names, ", "))})
        .as(codes::value);
  }
}

}  // namespace

void recompute_in_gradients(Graph& graph, std::vector<std::string> save) {
  set_custom_gradient(
      graph,
      [save](Graph& of, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required) {
        const GradInfos called;
        const GradGraphInfoPtr plain = Differentiator(of, provided, required, called).run();
        check_patterns(*plain, save);
        return recompute_graph(*plain, [&](const Tensor& t) {
          return std::any_of(save.begin(), save.end(), [&](const std::string& p) { return fits(p, t.name); });
        });
      },
      false);
}

GradGraphInfoPtr recompute_graph(const GradGraphInfo& info, const Kept& kept) {
  Graph& forward = *info.forward_graph;
  Graph& gradient = *info.graph;
  if (uses_streams(forward))
    throw Error(
        "recompute_graph: `" + shown_name(forward) + "` loads from or stores to a stream, and would do so again",
        {"move the streams out of the graph"})
        .as(codes::gradient);
  Ir& ir = forward.ir();
  return all_or_nothing(ir, [&] {
    const BuildStateGuard guard(ir);
    Graph& made = ir.create_graph(recompute_title(gradient));
    auto result = std::make_shared<GradGraphInfo>();
    result->graph = &made;
    result->forward_graph = &forward;
    result->expected_outputs = info.expected_outputs;

    std::unordered_map<const Tensor*, Tensor*> here;  // inputs of both graphs
    const auto add = [&](const Tensor* t) {
      return here.emplace(t, made.add_input(t->spec, t->name, t->by_ref, t->key)).first->second;
    };
    const auto& inputs = forward.inputs();
    for (size_t i = 0; i < info.expected_inputs.size(); ++i) {
      const ExpectedConnection& c = info.expected_inputs[i];
      if (c.type == ConnectionType::fwd_grad)
        add(gradient.inputs()[i]);
      else if (!is_activation(info, c) || (kept && kept(*c.fwd_tensor)))
        add(c.fwd_tensor);
      else
        continue;
      result->expected_inputs.push_back(c);
    }
    for (Tensor* t : by_name(inputs)) {
      if (here.count(t)) continue;
      add(t);
      result->expected_inputs.push_back({ConnectionType::fwd, t});
    }
    const auto& grad_inputs = gradient.inputs();
    for (const Tensor* t :
         by_name({grad_inputs.begin() + static_cast<std::ptrdiff_t>(info.expected_inputs.size()), grad_inputs.end()}))
      add(t);

    std::vector<Tensor*> given;
    for (const Tensor* t : inputs) given.push_back(here.at(t));
    const Op* again = made.add_call(forward, given);
    std::unordered_map<const Tensor*, Tensor*> values;  // forward tensors in this graph
    for (size_t i = 0; i < forward.outputs().size(); ++i) values.emplace(forward.outputs()[i], again->outputs[i]);
    for (const ExpectedConnection& c : result->expected_inputs)
      if (c.type == ConnectionType::fwd) values[c.fwd_tensor] = here.at(c.fwd_tensor);
    given.clear();
    for (size_t i = 0; i < grad_inputs.size(); ++i) {
      const bool activation = i < info.expected_inputs.size() && info.expected_inputs[i].type == ConnectionType::fwd;
      given.push_back(activation ? values.at(info.expected_inputs[i].fwd_tensor) : here.at(grad_inputs[i]));
    }
    const Op* back = made.add_call(gradient, given);
    for (Tensor* t : back->outputs) made.add_output(t);
    remember_gradient_graph(result);
    verify_transformed(ir);
    return result;
  });
}

}  // namespace pxl
