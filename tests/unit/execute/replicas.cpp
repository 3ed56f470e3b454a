// Replicas run in turns: what they exchange in one message, and where they stop.
#include "runtime/execute/replicas.hpp"

#include <doctest/doctest.h>

#include "runtime/execute/session.hpp"
#include "runtime/ops/op_builder.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// The sizes of the messages in a run with two replicas.
std::vector<size_t> messages(Ir& ir, const std::string& engine) {
  std::map<std::pair<const Tensor*, int>, Array> memory;
  for (const Tensor* v : ir.variables())
    for (int r = 0; r < 2; ++r) memory[{v, r}] = v->data.clone();
  const auto engines = make_engines(find_engine(engine), ReplicaRange::whole(2), [&](int replica) {
    return EngineTask{ir,
                      [&, replica](const Tensor* v) {
                        return memory.at({v, replica}).mutable_raw();
                      },
                      nullptr, nullptr, replica};
  });
  const std::function<bool()> commit = [] { return true; };
  std::vector<size_t> sizes;
  engines[0]->begin(commit);
  for (auto stops = engines[0]->advance(); !stops.empty(); stops = engines[0]->advance()) sizes.push_back(stops.size());
  return sizes;
}

struct Three {
  Ir ir;
  GraphOpBuilder at{ir.main()};
  InSequence sequence{ir.main(), InSequence::Mode::yes};
  std::vector<Expr> v;
  Three() {
    ir.replication_factor = 2;
    for (const char* name : {"a", "b", "c"})
      v.push_back(at.of(ir.main().add_variable(Array::zeros(DType::float32, {8}), name)));
  }
  Expr reduce(const Expr& e, const char* op = "add") {
    return at.one("replicated_all_reduce_", {e}, {{"op", Attr(op)}});
  }
};

}  // namespace

TEST_CASE("neighbouring collectives of one kind and group are one message") {
  Three p;
  for (const Expr& e : p.v) p.reduce(e);
  CHECK(messages(p.ir, "planned") == std::vector<size_t>{3});
  CHECK(messages(p.ir, "reference") == std::vector<size_t>{1, 1, 1});
}

TEST_CASE("another op, another group and the result of another collective begin a message") {
  Three ops;
  ops.reduce(ops.v[0]), ops.reduce(ops.v[1], "mean"), ops.reduce(ops.v[2], "mean");
  CHECK(messages(ops.ir, "planned") == std::vector<size_t>{1, 2});
  Three chain;
  chain.reduce(chain.reduce(chain.v[0]));
  chain.reduce(chain.v[1]);
  CHECK(messages(chain.ir, "planned") == std::vector<size_t>{1, 2});
  Three between;
  between.reduce(between.v[0]);
  between.at.emit("add_", {between.v[1], between.v[0]});
  between.reduce(between.v[1]);
  CHECK(messages(between.ir, "planned") == std::vector<size_t>{1, 1});
}

TEST_CASE("a group of one replica sends nothing") {
  Three p;
  p.at.one("replicated_all_reduce_", {p.v[0]}, {{"group", Attr(std::vector<int64_t>{0, 1})}});
  CHECK(messages(p.ir, "planned").empty());
  CHECK(messages(p.ir, "reference").empty());
}
