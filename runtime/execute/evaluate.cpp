// Throwaway evaluation of one tensor.
#include "runtime/execute/evaluate.hpp"

#include <fmt/format.h>

#include <map>

#include "runtime/base/codes.hpp"
#include "runtime/execute/program.hpp"

namespace pxl {

Array evaluate(const Tensor& tensor) {
  if (tensor.kind == TensorKind::variable || tensor.kind == TensorKind::constant) return tensor.data;
  if (tensor.kind == TensorKind::stream)
    throw Error(fmt::format("the stream `{}` has data only while a session runs", tensor.name),
                {"give it to session.run(...)"})
        .as(codes::stream);
  if (!tensor.graph->is_main())
    throw Error(
        fmt::format("`{}` belongs to a graph that may be called with any inputs, so it has no value", tensor.id),
        {"call the graph and evaluate the result"})
        .as(codes::session);

  Planner planner;
  const Plan plan = planner.plan_tensor(tensor);
  for (const auto& stream : tensor.graph->ir().streams())
    if (stream->to_device && plan.transfers.count(stream.get()))
      throw Error(fmt::format("`{}` depends on the stream `{}`, which has data only while a session runs", tensor.name,
                              stream->name()),
                  {"store the tensor to a stream and use session.run(...)"})
          .as(codes::stream);

  std::map<const Tensor*, Array> copies;
  for (const Item& item : plan.items)
    for (size_t slot = 0; slot < item.in.size(); ++slot) {
      if (!item.modified[slot]) continue;
      const Buffer& buffer = plan.buffers[static_cast<size_t>(item.in[slot])];
      if (buffer.kind == Buffer::Kind::variable) copies.emplace(buffer.tensor, buffer.tensor->data.clone());
    }
  const auto memory = [&](const Tensor* variable) -> std::byte* {
    const auto copy = copies.find(variable);
    // What nobody changes is read where it is.
    return copy != copies.end() ? copy->second.mutable_raw() : const_cast<std::byte*>(variable->data.raw());
  };
  Array result(tensor.spec.dtype, tensor.spec.shape);
  Program program(plan, memory, {result.mutable_raw()});
  std::vector<Array> discarded;
  for (StreamPort& port : program.ports()) {
    discarded.emplace_back(DType::uint8, Shape{port.per_run, port.sample_bytes});
    port.next = discarded.back().mutable_raw();
  }
  program.run([] { return true; });
  return result;
}

}  // namespace pxl
