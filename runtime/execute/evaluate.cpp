// Evaluation of one tensor outside a session.
#include "runtime/execute/evaluate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "runtime/base/codes.hpp"
#include "runtime/execute/engine.hpp"
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
  std::map<const Tensor*, Array> copies;
  Array result(tensor.spec.dtype, tensor.spec.shape);
  const EngineTask task{tensor.graph->ir(),
                        [&](const Tensor* variable) -> std::byte* {
                          const auto copy = copies.find(variable);
                          if (copy != copies.end()) return copy->second.mutable_raw();
                          return const_cast<std::byte*>(variable->data.raw());  // read without copying
                        },
                        &tensor, result.mutable_raw()};
  const EngineRow& row = find_engine(default_engine());
  std::unique_ptr<ExecutionEngine> engine = row.make(task);
  if (!engine->changed_variables().empty()) {
    for (const Tensor* variable : engine->changed_variables()) copies.emplace(variable, variable->data.clone());
    engine = row.make(task);
  }
  ExecutionEngine& running = observer ? engine->observed(observer) : *engine;

  std::vector<std::string> missing;
  for (const auto& stream : tensor.graph->ir().streams())
    for (const StreamPort& port : running.ports())
      if (port.stream == stream.get() && stream->to_device && !inputs.count(port.stream))
        missing.push_back(stream->name());
  if (!missing.empty())
    throw Error(
        fmt::format("`{}` depends on the stream{} `{}`, which {} data only while a session runs", tensor.name,
                    missing.size() == 1 ? "" : "s", fmt::join(missing, "`, `"), missing.size() == 1 ? "has" : "have"),
        {fmt::format("give the data: eval(t, {} = ...)", fmt::join(missing, " = ..., ")),
         "or store the tensor to a stream and use session.run(...)"})
        .as(codes::stream);

  std::vector<Array> samples;
  for (StreamPort& port : running.ports()) {
    const auto given = inputs.find(port.stream);
    samples.push_back(port.stream->to_device && port.per_run > 0 && given != inputs.end()
                          ? prepare_input(*port.stream, port.per_run, given->second)
                          : Array(DType::uint8, Shape{port.per_run, port.sample_bytes}));
    port.next = const_cast<std::byte*>(samples.back().raw());  // input ports are read only
  }
  running.run([] { return true; });
  return result;
}

}  // namespace pxl
