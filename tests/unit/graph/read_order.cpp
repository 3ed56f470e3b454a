// Reads of older values: what moves after a reader, what is refused, and rollbacks.
#include "runtime/graph/read_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/graph/rows.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

std::vector<int> order(const Graph& g) {
  std::vector<int> ids;
  for (const auto& op : g.ops()) ids.push_back(op->id);
  return ids;
}

/// A read of a variable, its change, what depends on the change, and a late reader.
struct Late {
  Ir ir;
  Tensor *v = ones(ir, {2}, "v"), *u = ones(ir, {2}, "u");
  Op* read = unary_op(neg_row, v)->producer;                      // 100
  Op* change = unary_op(relu_in_place_row, v)->producer;          // 101
  Op* other = unary_op(neg_row, u)->producer;                     // 102
  Op* follows = unary_op(neg_row, change->outputs[0])->producer;  // 103
};

}  // namespace

TEST_CASE("a change and what depends on it move after a reader of the old value") {
  Late t;
  Op* late = binary_op(add_row, t.v, t.other->outputs[0])->producer;
  CHECK(is_memory_changed_after(*t.read));
  CHECK(!is_memory_changed_after(*t.change));
  CHECK(is_read_changed(*t.read, *late, *late, {0}));
  CHECK(!is_read_changed(*t.read, *late, *late, {1}));
  read_as_of(*t.read, *late, {0}, "test");
  CHECK(order(t.ir.main()) == std::vector<int>{100, 102, 104, 101, 103});
  CHECK(t.change->after == std::vector<Op*>{t.read, late});
  verify(t.ir);
  check_inplace_order(t.ir);
}

TEST_CASE("a reader that depends on the change is refused, with nothing moved") {
  Late by_data, by_memory;
  Op* late = binary_op(add_row, by_data.v, by_data.follows->outputs[0])->producer;
  const std::string message = error_of([&] { read_as_of(*by_data.read, *late, {0}, "test"); });
  CHECK(contains(message, "test: `v` is changed by `relu_`"));
  CHECK(contains(message, "after the forward pass `neg`"));
  late = binary_op(add_row, by_memory.v, by_memory.v)->producer;  // of the second operand the value of now is meant
  CHECK(contains(error_of([&] { read_as_of(*by_memory.read, *late, {0}, "test"); }), "cannot run before that change"));
  CHECK(order(by_memory.ir.main()) == std::vector<int>{100, 101, 102, 103, 104});
}

TEST_CASE("a chain in sequence is not reordered") {
  Ir ir;
  Tensor* v = ones(ir, {2}, "v");
  const InSequence chain(ir.main(), InSequence::Mode::yes);
  Op* read = unary_op(neg_row, v)->producer;
  unary_op(relu_in_place_row, v);
  Op* late = unary_op(neg_row, v)->producer;
  CHECK_THROWS(read_as_of(*read, *late, {0}, "test"));
}

TEST_CASE("a rollback restores the order at its mark") {
  Late t;
  const auto first = t.ir.mark();
  read_as_of(*t.read, *unary_op(neg_row, t.v)->producer, {0}, "test");
  const std::vector<int> moved = order(t.ir.main());
  CHECK(moved == std::vector<int>{100, 102, 104, 101, 103});
  const auto second = t.ir.mark();
  unary_op(neg_row, t.u);
  read_as_of(*t.read, *unary_op(neg_row, t.v)->producer, {0}, "test");
  t.ir.rollback(*second);
  CHECK(order(t.ir.main()) == moved);
  verify(t.ir);
  t.ir.rollback(*first);
  CHECK(order(t.ir.main()) == std::vector<int>{100, 101, 102, 103});
  CHECK(t.change->after.empty());
  verify(t.ir);
}
