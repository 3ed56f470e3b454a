// Seeds for the random ops: arrays of seeds, and variables that hold one.
#include <set>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/kernels/random/draws.hpp"

namespace pxl {
namespace {

/// Returns [n, 2] distinct pairs, which are the same for the same seed.
Array make_seeds(int64_t seed, int64_t n) {
  if (n < 1 || n > (1 << 20)) throw Error("create_seeds: n must be in 1..1048576, not " + std::to_string(n));
  Random random(static_cast<uint64_t>(seed));
  Array seeds = Array::zeros(DType::uint32, {n, 2});
  auto* words = seeds.mutable_data<uint32_t>();
  std::set<uint64_t> taken;
  for (int64_t i = 0; i < n; ++i) {
    const auto draw = [&] { return uint64_t{random.bits()} << 32U | random.bits(); };
    uint64_t bits = draw();
    while (!taken.insert(bits).second) bits = draw();
    words[2 * i] = static_cast<uint32_t>(bits);
    words[2 * i + 1] = static_cast<uint32_t>(bits >> 32U);
  }
  return seeds;
}

}  // namespace

void bind_seed_builtins(Scope& p) {
  define(
      p, no_effects,
      {"create_seeds(seed, n = 1)",
       "An array uint32[n, 2] of distinct seeds for random ops, the same ones for the same seed; uint32[2] for n = 1.",
       "create_seeds(7, n = 2).shape"},
      [](Interpreter&, Arguments args) -> Value {
        ArgReader a(args);
        const int64_t n = a.integer("n");
        Array seeds = make_seeds(a.integer("seed"), n);
        return Value(n == 1 ? seeds.reshaped({2}) : seeds);
      });
  define(p, no_effects,
         {"seed_variable(seed, name = \"seed\", replica_grouping = none)",
          "A variable uint32[2] with a seed for random ops; `split_random_seed` makes further ones of it. Each group "
          "has its own seed if a replica grouping is given.",
          R"(seed_variable(7).spec)"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           const BuildTarget target = graphs_of(in).target();
           stamp(in, *target.ir);
           const ReplicaGroups groups = to_variable_groups(a.value_or("replica_grouping", {}), *target.ir);
           Array seed = make_seeds(a.integer("seed"), group_count(groups));
           if (groups.empty()) seed = seed.reshaped({2});
           return tensor_value(target.ir, target.graph->add_variable(std::move(seed), a.string("name"), groups));
         });
}

}  // namespace pxl
