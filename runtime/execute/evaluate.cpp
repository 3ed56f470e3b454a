// Evaluation of one tensor outside a session.
#include "runtime/execute/evaluate.hpp"

#include <fmt/format.h>

#include <map>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/execute/replicas.hpp"
#include "runtime/graph/agreement.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/op/shards.hpp"

namespace pxl {
namespace {

/// Throws if the engine reads a stream that is not given.
void check_given(const Tensor& tensor, const StreamData& inputs, const ExecutionEngine& engine) {
  std::vector<std::string> missing;
  for (const auto& stream : tensor.graph->ir().streams())
    for (const StreamPort& port : engine.ports())
      if (port.stream == stream.get() && stream->to_device && !inputs.count(port.stream))
        missing.push_back(stream->name());
  if (missing.empty()) return;
  throw Error(
      fmt::format("`{}` depends on the stream{} `{}`, which {} data only while a session runs", tensor.name,
                  missing.size() == 1 ? "" : "s", join_texts(missing, "`, `"), missing.size() == 1 ? "has" : "have"),
      {fmt::format("give the data: eval(t, {} = ...)", join_texts(missing, " = ..., ")),
       "or store the tensor to a stream and use session.run(...)"})
      .as(codes::stream);
}

}  // namespace

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
  const Ir& ir = tensor.graph->ir();
  if (!ir.remote_buffers().empty())
    throw Error(
        fmt::format("`{}`: the program has remote buffers, of which only a session has the contents", tensor.name),
        {"store the tensor to a stream and use session.run(...)"})
        .as(codes::session);
  check_collectives(ir);
  const int replicas = ir.replication_factor;
  std::map<std::pair<const Tensor*, int>, Array> copies;
  const auto initial = [](const Tensor* variable, int replica) {
    const int64_t row = variable->groups.empty() ? 0 : variable->groups[static_cast<size_t>(replica)];
    return variable->data.raw() + row * whole_spec(variable->spec).bytes();
  };
  const auto copy_initial = [&](const Tensor* variable, int replica) {
    const TensorSpec& spec = variable->spec;
    Array copy = Array::zeros(spec.dtype, spec.shape);
    const ShardRange range =
        spec.is_shard() ? shard_range(spec, positions_in_group(spec.shard_groups)[static_cast<size_t>(replica)])
                        : ShardRange{0, spec.bytes()};
    std::copy_n(initial(variable, replica) + range.begin, range.bytes, copy.mutable_raw());
    copies.emplace(std::pair(variable, replica), std::move(copy));
  };
  // Other variables are read in place.
  for (const Tensor* variable : ir.variables())
    for (int r = 0; variable->spec.is_shard() && r < replicas; ++r) copy_initial(variable, r);
  Shape shape = tensor.spec.shape;
  if (replicas > 1) shape.insert(shape.begin(), replicas);
  Array result(tensor.spec.dtype, shape);
  const auto task = [&](int replica) {
    return EngineTask{ir,
                      [&, replica](const Tensor* variable) -> std::byte* {
                        if (const auto copy = copies.find({variable, replica}); copy != copies.end())
                          return copy->second.mutable_raw();
                        return const_cast<std::byte*>(initial(variable, replica));  // read without copying
                      },
                      &tensor, result.mutable_raw() + replica* tensor.spec.bytes(), replica};
  };
  const EngineRow& row = find_engine(default_engine());
  std::vector<std::unique_ptr<ExecutionEngine>> engines = make_engines(row, ReplicaRange::whole(replicas), task);
  if (!engines[0]->changed_variables().empty()) {
    for (const Tensor* variable : engines[0]->changed_variables())
      for (int r = 0; !variable->spec.is_shard() && r < replicas; ++r) copy_initial(variable, r);
    engines = make_engines(row, ReplicaRange::whole(replicas), task);
  }
  std::vector<ExecutionEngine*> all;
  for (const auto& engine : engines) all.push_back(observer ? &engine->observed(observer) : engine.get());
  ExecutionEngine& running = *all[0];
  check_given(tensor, inputs, running);
  std::vector<Array> samples;
  for (size_t p = 0; p < running.ports().size(); ++p) {
    const StreamPort& port = running.ports()[p];
    const auto given = inputs.find(port.stream);
    samples.push_back(port.stream->to_device && port.per_run > 0 && given != inputs.end()
                          ? prepare_input(*port.stream, port.per_run, replicas, given->second)
                          : Array(DType::uint8, Shape{port.per_run, replicas, port.sample_bytes}));
    for (size_t r = 0; r < all.size(); ++r) {
      StreamPort& own = all[r]->ports()[p];
      own.next = const_cast<std::byte*>(samples.back().raw()) +  // input ports are read only
                 static_cast<int64_t>(r) * own.sample_bytes;
      own.stride = replicas * own.sample_bytes;
    }
  }
  run_in_turns({all, ReplicaRange::whole(replicas), [](size_t) { return true; }});
  return result;
}

}  // namespace pxl
