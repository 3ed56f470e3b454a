// Throwaway evaluation of one tensor.
#include "runtime/execute/evaluate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "runtime/base/codes.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/graph/schedule.hpp"

namespace pxl {

Array evaluate(const Tensor& tensor, const StreamData& inputs, RunObserver* observer) {
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

  check_inplace_order(tensor);
  Planner planner(observer ? PlanOptions::reference() : PlanOptions::from_environment());
  const Plan plan = planner.plan_tensor(tensor);
  std::vector<std::string> missing;
  for (const auto& stream : tensor.graph->ir().streams())
    if (stream->to_device && plan.transfers.count(stream.get()) && !inputs.count(stream.get()))
      missing.push_back(stream->name());
  if (!missing.empty())
    throw Error(
        fmt::format("`{}` depends on the stream{} `{}`, which {} data only while a session runs", tensor.name,
                    missing.size() == 1 ? "" : "s", fmt::join(missing, "`, `"), missing.size() == 1 ? "has" : "have"),
        {fmt::format("give the data: eval(t, {} = ...)", fmt::join(missing, " = ..., ")),
         "or store the tensor to a stream and use session.run(...)"})
        .as(codes::stream);

  std::map<const Tensor*, Array> copies;
  for (const Instruction& instruction : plan.instructions)
    for (size_t slot = 0; slot < instruction.in.size(); ++slot) {
      if (!instruction.modified[slot]) continue;
      const Buffer& buffer = plan.buffers[static_cast<size_t>(instruction.in[slot])];
      if (buffer.kind == Buffer::Kind::variable) copies.emplace(buffer.tensor, buffer.tensor->data.clone());
    }
  const auto memory = [&](const Tensor* variable) -> std::byte* {
    const auto copy = copies.find(variable);
    // A variable that nothing changes is read in place.
    return copy != copies.end() ? copy->second.mutable_raw() : const_cast<std::byte*>(variable->data.raw());
  };
  Array result(tensor.spec.dtype, tensor.spec.shape);
  Program program(plan, memory, {result.mutable_raw()});
  if (observer) program.observe(observer);
  std::vector<Array> samples;
  for (StreamPort& port : program.ports()) {
    const auto given = inputs.find(port.stream);
    samples.push_back(port.stream->to_device && port.per_run > 0 && given != inputs.end()
                          ? prepare_input(*port.stream, port.per_run, given->second)
                          : Array(DType::uint8, Shape{port.per_run, port.sample_bytes}));
    port.next = const_cast<std::byte*>(samples.back().raw());  // ports of inputs are only read
  }
  program.run([] { return true; });
  return result;
}

}  // namespace pxl
