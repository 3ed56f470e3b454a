// Loops and branches as nodes with graphs of their own.
#include "interpreter/onnx/exporter.hpp"

namespace pxl::onnx {

Graph Exporter::body(const std::function<void()>& fill, const std::string& name) {
  Graph graph;
  graph.name = name;
  Graph* outer = std::exchange(out_, &graph);
  fill();
  out_ = outer;
  return graph;
}

void Exporter::result(const std::string& value, const TensorSpec& spec) {
  out_->outputs.push_back(value_info(several("Identity", {value}, {}, {"result"}).front(), spec));
}

void Exporter::take_outputs(const Op& op, const std::string& node, Texts inputs, std::vector<Attribute> attributes,
                            Frame& frame) {
  Texts wanted;
  for (const Tensor* t : op.outputs) wanted.push_back(t->name);
  const Texts out = several(node, std::move(inputs), std::move(attributes), wanted);
  for (size_t i = 0; i < out.size(); ++i) frame[op.outputs[i]] = out[i];
}

void Exporter::add_loop(const Op& op, Frame& frame) {
  const pxl::Graph& callee = *op.called[0];
  const size_t carried = op.outputs.size();
  const OpContextStorage storage(op);
  Graph inside = body(
      [&] {
        const auto parameter = [&](const std::string& wanted, const TensorSpec& spec) {
          out_->inputs.push_back(value_info(unique(wanted), spec));
          return out_->inputs.back().name;
        };
        parameter("iteration", {{}, DType::int64, {}});
        const std::string go = parameter("condition", {{}, DType::boolean, {}});
        Frame inner;
        for (size_t i = 0; i < callee.inputs().size(); ++i)
          inner[callee.inputs()[i]] = i < carried ? parameter(callee.inputs()[i]->name, callee.inputs()[i]->spec)
                                                  : name_of(op.inputs[i], frame);
        add_ops(callee, inner);
        result(go, {{}, DType::boolean, {}});
        for (size_t i = 0; i < carried; ++i) result(name_of(callee.outputs()[i], inner), callee.outputs()[i]->spec);
      },
      callee.name());
  Texts inputs{initialiser("count", Array::scalar<int64_t>(storage.site.integer("count"))),
               initialiser("always", Array::scalar<bool>(true))};
  for (size_t i = 0; i < carried; ++i) inputs.push_back(name_of(op.inputs[i], frame));
  take_outputs(op, "Loop", std::move(inputs), {attribute("body", std::move(inside))}, frame);
}

void Exporter::add_branch(const Op& op, Frame& frame) {
  size_t at = 1;
  std::vector<Attribute> bodies;
  for (size_t which = 0; which < 2; ++which) {
    const pxl::Graph& callee = *op.called[which];
    Frame inner;
    for (const Tensor* t : callee.inputs()) inner[t] = name_of(op.inputs[at++], frame);
    Graph inside = body(
        [&] {
          add_ops(callee, inner);
          for (size_t i = 0; i < op.outputs.size(); ++i)
            result(name_of(callee.outputs()[i], inner), op.outputs[i]->spec);
        },
        callee.name());
    bodies.push_back(attribute(which == 0 ? "then_branch" : "else_branch", std::move(inside)));
  }
  take_outputs(op, "If", {name_of(op.inputs[0], frame)}, std::move(bodies), frame);
}

}  // namespace pxl::onnx
