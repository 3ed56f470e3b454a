// Collectives of replicas in several processes have the bits of one process, wherever the replicas are.
#include "runtime/execute/process_collectives.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "runtime/execute/program.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/ops/op_builder.hpp"
#include "tests/unit/support/thread_job.hpp"

using namespace pxl;

namespace {

// Processes are threads here, and a pool serves one of them.
const int one_thread = ::setenv("PXL_THREADS", "1", 1);

/// A collective whose operand has n elements, in groups of `replicas`.
struct Collective {
  Ir ir;
  std::vector<const Op*> ops;  ///< one, or several that are one message

  Collective(const std::string& name, DType dtype, const std::vector<int64_t>& sizes, const ReplicaGroups& groups,
             const std::pair<std::string_view, Attr>& more = {}) {
    ir.replication_factor = static_cast<int>(groups.size());
    GraphOpBuilder at(ir.main());
    for (const int64_t n : sizes) {
      const Expr in = at.of(ir.main().add_variable(Array::zeros(dtype, {n}), "v"));
      const Expr out = more.first.empty() ? at.one(name, {in}, {{"group", Attr(groups)}})
                                          : at.one(name, {in}, {{"group", Attr(groups)}, more});
      ops.push_back(out.tensor()->producer);
    }
  }
};

std::vector<std::byte> random_bytes(std::mt19937& rng, DType dtype, int64_t bytes) {
  std::vector<std::byte> out(static_cast<size_t>(bytes));
  std::normal_distribution<float> normal(0, 300);
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    for (size_t at = 0; at < out.size(); at += sizeof(T)) {
      const T value = static_cast<T>(normal(rng));
      std::memcpy(out.data() + at, &value, sizeof(T));
    }
  };
  if (dtype == DType::float32) fill(0.0F);
  if (dtype == DType::float64) fill(0.0);
  if (dtype == DType::int32) fill(int32_t{0});
  if (dtype == DType::float16)
    for (size_t at = 0; at < out.size(); at += 2) {
      const half value(normal(rng));
      std::memcpy(out.data() + at, &value, 2);
    }
  if (dtype == DType::bfloat16)
    for (size_t at = 0; at < out.size(); at += 2) {
      const bfloat16 value(normal(rng));
      std::memcpy(out.data() + at, &value, 2);
    }
  return out;
}

using Memory = std::vector<std::vector<std::vector<std::byte>>>;  // by replica, by op

/// The results of all replicas where they run in `processes`; 0: the kernel itself.
Memory results(const Collective& c, const Memory& in, int processes, bool by_definition) {
  const int total = c.ir.replication_factor;
  Memory given = in, out(in.size());
  std::vector<std::vector<CollectiveStop>> stops(in.size());
  std::vector<Kernel> kernels;
  for (const Op* op : c.ops) {
    const OpContextStorage storage(*op);
    kernels.push_back(by_definition ? definition_kernel(storage.site) : kernel_of(storage.site));
  }
  for (size_t r = 0; r < in.size(); ++r)
    for (size_t k = 0; k < c.ops.size(); ++k)
      out[r].emplace_back(static_cast<size_t>(c.ops[k]->outputs[0]->spec.bytes()), std::byte{0x77});
  for (size_t r = 0; r < in.size(); ++r)
    for (size_t k = 0; k < c.ops.size(); ++k) {
      const bool in_place = c.ops[k]->row->alias >= 0;
      if (in_place) out[r][k] = given[r][k];
      stops[r].push_back({c.ops[k], &kernels[k], in_place ? out[r][k].data() : given[r][k].data(), out[r][k].data(), 0,
                          by_definition});
    }
  if (processes == 0) {
    const OpContext site{*c.ops[0]->row, {}, c.ops[0]->attrs};
    for (size_t k = 0; k < c.ops.size(); ++k)
      for (const auto& members : group_members(replica_groups_of(site))) {
        std::vector<const std::byte*> from;
        std::vector<std::byte*> to;
        for (const int64_t m : members) {
          from.push_back(stops[static_cast<size_t>(m)][k].in);
          to.push_back(stops[static_cast<size_t>(m)][k].out);
        }
        kernels[k](Buffers{from.data(), to.data()});
      }
    return out;
  }
  const auto errors = ThreadJob(processes).run([&](Processes& job) {
    const ReplicaRange range = job.replicas(total);
    ProcessCollectives collectives(job, range);
    std::vector<std::span<const CollectiveStop>> own;
    for (int i = 0; i < range.count; ++i) own.emplace_back(stops[static_cast<size_t>(range.first + i)]);
    collectives.run(own);
  });
  for (const auto& e : errors) CHECK(message_of(e) == "");
  return out;
}

void check_placements(const Collective& c, const std::string& what, uint32_t seed) {
  std::mt19937 rng(seed);
  Memory in(static_cast<size_t>(c.ir.replication_factor));
  for (auto& replica : in)
    for (const Op* op : c.ops)
      replica.push_back(random_bytes(rng, op->inputs[0]->spec.dtype, op->inputs[0]->spec.bytes()));
  const Memory expected = results(c, in, 0, false);
  for (int processes = 1; processes <= c.ir.replication_factor; ++processes) {
    if (c.ir.replication_factor % processes != 0) continue;
    INFO(what << " in " << processes << " processes");
    CHECK(results(c, in, processes, false) == expected);
  }
}

std::vector<ReplicaGroups> groupings(int replicas) {
  std::vector<ReplicaGroups> all = {one_group(replicas)};
  if (replicas == 4) all.push_back({0, 1, 1, 0});
  if (replicas == 6) all.insert(all.end(), {strided_groups(6, 2, 3), strided_groups(6, 1, 3), {0, 0, 1, 0, 1, 1}});
  if (replicas == 8) all.insert(all.end(), {strided_groups(8, 2, 4), strided_groups(8, 1, 4), strided_groups(8, 2, 2)});
  return all;
}

}  // namespace

TEST_CASE("reductions have the same bits in any placement") {
  struct Case {
    int64_t n;
    const char *op, *of_integers;
  };
  uint32_t seed = one_thread == 0 ? 1 : 0;
  for (const int replicas : {2, 3, 4, 6, 8})
    for (const ReplicaGroups& groups : groupings(replicas))
      for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::int32})
        for (const Case& c :
             {Case{37, "mean", "max"}, Case{9001, "square_add", "square_add"}, Case{70001, "mean", "mul"}}) {
          const char* op = dtype == DType::int32 ? c.of_integers : c.op;
          const std::string what = fmt::format("{} of {} {} elements on {} replicas in {} groups", op, c.n, name(dtype),
                                               replicas, group_count(groups));
          for (const char* row : {"replicated_all_reduce", "replicated_all_reduce_", "replicated_reduce_scatter"})
            check_placements(Collective(row, dtype, {c.n}, groups, {"op", Attr(op)}), fmt::format("{}, {}", row, what),
                             ++seed);
        }
}

TEST_CASE("an op that moves elements moves the same ones in any placement") {
  uint32_t seed = 100;
  for (const int replicas : {2, 4, 6, 8})
    for (const ReplicaGroups& groups : groupings(replicas)) {
      const int64_t members = group_size(groups);
      for (const int64_t n : {members, 50 * members, 9000 * members}) {
        const std::string what = fmt::format("{} elements on {} replicas", n, replicas);
        check_placements(Collective("all_gather_flat", DType::float32, {n}, groups), "gather, " + what, ++seed);
        check_placements(Collective("replicated_all_to_all", DType::float32, {n}, groups), "all to all, " + what,
                         ++seed);
        for (int64_t root : {int64_t{0}, members - 1})
          for (const char* row : {"replicated_broadcast", "replicated_reduce"})
            check_placements(Collective(row, DType::float32, {n}, groups, {"root", Attr(root)}),
                             fmt::format("{} {}, {}", row, root, what), ++seed);
      }
    }
}

TEST_CASE("several collectives are one message") {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{3, 1, 7}, {5000, 2, 4097, 60}})
    check_placements(Collective("replicated_all_reduce_", DType::float32, sizes, one_group(4)),
                     fmt::format("{} tensors", sizes.size()), 5);
}

TEST_CASE("definitions give the bits of the kernels in any placement") {
  std::mt19937 rng(11);
  for (const char* row : {"replicated_all_reduce", "replicated_all_reduce_", "replicated_reduce_scatter"}) {
    const Collective c(row, DType::float32, {333}, one_group(4));
    Memory in(4);
    for (auto& replica : in) replica.push_back(random_bytes(rng, DType::float32, 333 * 4));
    const Memory expected = results(c, in, 0, false);
    for (const int processes : {1, 2, 4}) CHECK(results(c, in, processes, true) == expected);
  }
}
