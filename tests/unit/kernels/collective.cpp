// The order in which replicas are combined, and that no division of the work changes a bit.
#include "runtime/kernels/outside/collective.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <random>

#include "runtime/kernels/outside/replica_tree.hpp"

using namespace pxl;

namespace {

/// "((0 1) (2 3))"
std::string tree_text(int64_t n) {
  std::map<size_t, std::string> slots;
  combine_nodes(
      0, n, 0,
      [&](int64_t first, int64_t last, size_t slot) {
        if (last - first == 1) slots[slot] = std::to_string(first);
        return last - first == 1;
      },
      [&](size_t a, size_t b) { slots[a] = fmt::format("({} {})", slots.at(a), slots.at(b)); });
  CHECK(static_cast<int64_t>(slots.size()) <= combine_slots(n));
  return slots.at(0);
}

/// The bits of a sum over `members` operands with n elements each, in chunks of `piece`.
std::vector<uint32_t> bits(int64_t members, int64_t n, int64_t piece, const ReductionResult& result) {
  std::mt19937 rng(7);
  std::normal_distribution<float> normal(0, 1e3F);
  std::vector<std::vector<float>> in(static_cast<size_t>(members)), out = in;
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (auto& x : in) {
    for (int64_t i = 0; i < n; ++i) x.push_back(normal(rng));
    from.push_back(reinterpret_cast<const std::byte*>(x.data()));
  }
  const int64_t size = result.to == ReductionResult::To::shards ? result.shard : n;
  for (auto& x : out) {
    x.assign(static_cast<size_t>(size), -1.0F);
    to.push_back(reinterpret_cast<std::byte*>(x.data()));
  }
  const Kernel kernel = replica_reduction_kernel(DType::float32, ReplicaReduction::add, n, members, result);
  const WorkspaceMemory memory(kernel.workspace().bytes(1));
  const Buffers b = Buffers{from.data(), to.data()}.with_workspace(memory.data(), kernel.workspace());
  for (const Phase& phase : kernel.phases())
    for (int64_t at = 0; at < phase.iterations; at += piece * phase.grain)
      phase.part(b, at, std::min(phase.iterations, at + piece * phase.grain));
  std::vector<uint32_t> all;
  for (const auto& x : out)
    for (float v : x) {
      all.emplace_back();
      std::memcpy(&all.back(), &v, sizeof v);
    }
  return all;
}

}  // namespace

TEST_CASE("members are combined by a tree whose aligned blocks are subtrees") {
  CHECK(tree_text(1) == "0");
  CHECK(tree_text(2) == "(0 1)");
  CHECK(tree_text(3) == "((0 1) 2)");
  CHECK(tree_text(4) == "((0 1) (2 3))");
  CHECK(tree_text(6) == "(((0 1) (2 3)) (4 5))");
  CHECK(tree_text(7) == "(((0 1) (2 3)) ((4 5) 6))");
  for (int64_t n : {5, 9, 16, 31, 100}) CHECK(tree_text(n).find("((0 1) (2 3))") != std::string::npos);
}

TEST_CASE("a reduction has the same bits in any division of the work") {
  for (int64_t members : {1, 2, 3, 5, 8})
    for (const ReductionResult& result :
         {ReductionResult{}, ReductionResult{ReductionResult::To::shards, (5000 + members - 1) / members},
          ReductionResult{ReductionResult::To::one, 0, members - 1}}) {
      const auto whole = bits(members, 5000, 1000, result);
      CHECK(whole == bits(members, 5000, 1, result));
      CHECK(whole == bits(members, 5000, 3, result));
    }
}

TEST_CASE("shards are padded with zeros") {
  const auto shards = bits(4, 5, 1, {ReductionResult::To::shards, 2});
  REQUIRE(shards.size() == 8);
  CHECK(shards[5] == 0);
  CHECK(shards[6] == 0);
  CHECK(shards[7] == 0);
  CHECK(shards[4] != 0);
}
