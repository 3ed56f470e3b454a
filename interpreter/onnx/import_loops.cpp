#include "interpreter/onnx/import_loops.hpp"

#include <algorithm>

#include "interpreter/onnx/import_template.hpp"

namespace pxl::onnx {

namespace {

const Graph* body_of(const Node& node) {
  const Attribute* body = node.attribute("body");
  return body && body->graph ? body->graph.get() : nullptr;
}

/// A Loop and its body have this number of inputs before the carried ones; the body has this number of outputs before
/// them.
constexpr size_t loop_inputs = 2, loop_outputs = 1;

bool is_true(const TensorData& t) {
  if (dtype_of(t.element()) != DType::boolean) return false;
  const Array a = to_array(t, {});
  return a.size() == 1 && a.integer(0) != 0;
}

/// Whether the body returns the condition that it received, or a constant true.
bool always_continues(const Graph& body) {
  std::string value = body.outputs[0].name;
  for (size_t i = body.nodes.size(); i-- > 0;) {
    const Node& n = body.nodes[i];
    if (std::find(n.outputs.begin(), n.outputs.end(), value) == n.outputs.end()) continue;
    if (n.op == "Constant") {
      const Attribute* constant = n.attribute("value");
      return constant && constant->tensor && is_true(*constant->tensor);
    }
    if (n.op != "Identity" || n.inputs.size() != 1) return false;
    value = n.inputs[0];
  }
  return value == body.inputs[1].name ||
         std::any_of(body.initialisers.begin(), body.initialisers.end(),
                     [&](const TensorData& t) { return t.name == value && is_true(t); });
}

/// Whether both are tensors of one dtype and shape, all extents known.
bool same_spec(const ValueInfo& a, const ValueInfo& b) {
  if (!a.type || !b.type || !a.type->tensor || !b.type->tensor) return false;
  const TensorType &s = *a.type->tensor, &t = *b.type->tensor;
  if (s.element != t.element || !s.shape || !t.shape || s.shape->dims.size() != t.shape->dims.size()) return false;
  for (size_t i = 0; i < s.shape->dims.size(); ++i)
    if (s.shape->dims[i].value.empty() || s.shape->dims[i].value != t.shape->dims[i].value) return false;
  return true;
}

bool reads(const Graph& graph, const std::string& value) {
  const auto is_it = [&](const std::string& name) { return name == value; };
  return std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const ValueInfo& o) { return o.name == value; }) ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) {
           return std::any_of(n.inputs.begin(), n.inputs.end(), is_it) ||
                  std::any_of(n.attributes.begin(), n.attributes.end(),
                              [&](const Attribute& a) { return a.graph && reads(*a.graph, value); });
         });
}

}  // namespace

void add_host_values(const std::vector<Node>& nodes, int64_t opset, std::set<std::string>& host,
                     const HostInputs& inputs_of_call) {
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = nodes[i];
    for (const Attribute& a : node.attributes) {
      if (!a.graph) continue;
      // A result of a branch must be known where that of the If must be.
      if (node.op == "If")
        for (size_t o = 0; o < std::min(node.outputs.size(), a.graph->outputs.size()); ++o)
          if (host.contains(node.outputs[o])) host.insert(a.graph->outputs[o].name);
      add_host_values(a.graph->nodes, opset, host, inputs_of_call);
    }
    const std::vector<size_t>* of_call = inputs_of_call ? inputs_of_call(node) : nullptr;
    // All rows of a loop have the same host inputs; judging nested loops here would take a time exponential in their
    // depth.
    const ImportRow* row = of_call ? nullptr : find_row(node, opset, false);
    if (!of_call && !row) continue;
    for (size_t input : of_call ? *of_call : host_inputs(node, *row))
      if (has_input(node, input)) host.insert(node.inputs[input]);
    const bool wanted =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& o) { return host.contains(o); });
    if (wanted && (of_call || (node.op != "Shape" && node.op != "Size")))
      for (const std::string& input : node.inputs)
        if (!input.empty()) host.insert(input);
  }
}

namespace {

/// Whether no value that the body gets must be known while its graph is built.
bool needs_no_values(const Graph& body, int64_t opset) {
  std::set<std::string> host;
  add_host_values(body.nodes, opset, host);
  return std::none_of(body.inputs.begin(), body.inputs.end(), [&](const auto& i) { return host.contains(i.name); });
}

/// Whether what a Loop carries keeps its shape.
bool keeps_shapes(const Node& node, const Graph& body) {
  if (node.inputs.size() < loop_inputs || body.inputs.size() != node.inputs.size()) return false;
  const size_t carried = node.inputs.size() - loop_inputs;
  if (carried == 0 || body.outputs.size() < loop_outputs + carried) return false;
  for (size_t i = 0; i < carried; ++i)
    if (!same_spec(body.inputs[loop_inputs + i], body.outputs[loop_outputs + i])) return false;
  return true;
}

}  // namespace

bool is_steady(const Node& node, int64_t opset) {
  const Graph* body = body_of(node);
  if (!body || !needs_no_values(*body, opset)) return false;
  return node.op != "Loop" || (keeps_shapes(node, *body) && always_continues(*body));
}

bool is_conditional_loop(const Node& node, int64_t opset, bool judging_loops) {
  const Graph* body = body_of(node);
  return body && keeps_shapes(node, *body) &&
         body->outputs.size() + loop_inputs == body->inputs.size() + loop_outputs && !always_continues(*body) &&
         (!judging_loops || needs_no_values(*body, opset));
}

bool is_plain_loop(const Node& node) {
  const Graph* body = body_of(node);
  return body && body->outputs.size() + loop_inputs == body->inputs.size() + loop_outputs &&
         !reads(*body, body->inputs[0].name);
}

}  // namespace pxl::onnx
