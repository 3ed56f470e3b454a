#include "runtime/transform/accumulate.hpp"
#include "runtime/graph/shown_names.hpp"

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/differentiator.hpp"

namespace pxl {

namespace {

/// "fc1.weight", also for a tensor without key, from its scopes: "fc1/weight".
std::string dotted_name(const Tensor& t) {
  std::string name = t.key.empty() ? t.name : t.key;
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace

Accumulation autodiff_with_accumulation(Graph& graph, const std::vector<Tensor*>& accumulate,
                                        std::optional<std::vector<Tensor*>> grads_provided,
                                        const std::vector<Tensor*>& grads_required,
                                        const std::map<Graph*, GradGraphInfoPtr>& called_graphs_grad_info) {
  if (accumulate.empty())
    throw Error("autodiff_with_accumulation: no tensor is named whose gradient is to be accumulated",
                {"name inputs of the graph, for instance `graph.args.tensors`"})
        .as(codes::gradient);
  std::vector<Tensor*> required;
  TensorSet seen;
  for (Tensor* t : grads_required)
    if (seen.insert(t).second) required.push_back(t);
  const size_t returned = required.size();
  TensorSet accumulated;
  for (Tensor* t : accumulate) {
    if (!accumulated.insert(t).second)
      throw Error("autodiff_with_accumulation: `" + shown_name(*t) + "` is named twice among the tensors to accumulate")
          .as(codes::gradient);
    if (seen.insert(t).second) required.push_back(t);
  }

  Ir& ir = graph.ir();
  return all_or_nothing(ir, [&] {
    const GradGraphInfoPtr plain = autodiff(graph, std::move(grads_provided), required, called_graphs_grad_info, true);
    Graph& made = *plain->graph;
    std::unordered_map<const Tensor*, Tensor*> gradients;
    for (size_t i = 0; i < plain->expected_outputs.size(); ++i)
      gradients.emplace(plain->expected_outputs[i].fwd_tensor, made.outputs()[i]);
    auto info = std::make_shared<GradGraphInfo>(*plain);
    info->expected_outputs.resize(returned);
    made.set_outputs({made.outputs().begin(), made.outputs().begin() + static_cast<std::ptrdiff_t>(returned)});

    const BuildStateGuard guard(ir);
    Accumulation result;
    result.info = info;
    result.counter = made.add_input({{}, DType::float32, {}}, "mean_accum_counter", true, "mean_accum_counter");
    for (const Tensor* t : accumulate) {
      const std::string name = "accum." + dotted_name(*t);
      result.accumulators.push_back(made.add_input(t->spec, name, true, name));
    }
    GraphOpBuilder builder(made);
    const InSequence chain(made, InSequence::Mode::yes);
    {
      const InSequence any_order(made, InSequence::Mode::no);
      for (size_t i = 0; i < accumulate.size(); ++i)
        builder.emit("accumulate_mean_", {builder.of(result.accumulators[i]), builder.of(gradients.at(accumulate[i])),
                                          builder.of(result.counter)});
    }
    builder.emit("accumulate_", {builder.of(result.counter), builder.scalar(1, DType::float32)});
    verify_transformed(ir);
    return result;
  });
}

}  // namespace pxl
