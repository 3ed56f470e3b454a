// Repeated calls of ops on arrays (graphs/calls/call_cache.hpp). They have the results, errors and
// promotions of the general way, whatever the elements are, and few allocations.
#include <doctest/doctest.h>

#include <cstdlib>

#include "interpreter/values/value.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/ops/table.hpp"
#include "tests/unit/support/host_session.hpp"

using namespace pxl;
using namespace pxl::test;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define PXL_COUNTS_ALLOCATIONS 1
namespace {
int64_t allocations = 0;
}
extern "C" void* __libc_malloc(size_t size);  // NOLINT: glibc's name
extern "C" void* malloc(size_t size) noexcept {
  ++allocations;
  return __libc_malloc(size);
}
#endif

namespace {

std::string outcome(HostSession& s, const std::string& text) {
  try {
    return s.shown(text);
  } catch (const Error& e) {
    return "error: " + e.first().message;
  }
}

/// The general way: with a budget, however large, there is no cache.
std::string general_outcome(HostSession& s, const std::string& text) {
  constexpr int64_t much = int64_t{1} << 50;
  Budget budget(
      {.work_ns = much, .part_ns = much, .memory_bytes = much, .cpu_ns = much, .array_bytes = much, .kernel_ns = much});
  const BudgetScope scope(&budget);
  return outcome(s, text);
}

}  // namespace

TEST_CASE("the examples of all ops give the same at each repetition, whatever the dtypes of their arrays are") {
  HostSession s;
  s.run("made = array");
  size_t count = 0;
  for (const std::string dtype : {"dtype", "int32", "int64", "uint8", "bool", "float16", "float64"}) {
    s.run("def array(values, dtype = none) { return " +
          (dtype == "dtype" ? "made(values, dtype)" : "cast(made(values), " + dtype + ")") + " }");
    for (const OpRow* row : op_table()) {
      if (row->path.empty() || row->example.empty() || row->side_effect || slot_count(*row) == 0) continue;
      const std::string example(row->example);
      CAPTURE(dtype);
      CAPTURE(example);
      const std::string expected = general_outcome(s, example);
      for (int i = 0; i < 4; ++i) CHECK(outcome(s, example) == expected);
      ++count;
    }
  }
  CHECK(count > 500);
}

TEST_CASE("a repeated call computes with its own elements") {
  HostSession s;
  s.run(
      "x = normal(0, 1, [3, 4])\ny = uniform(0.5, 2, [3, 4])\nh = cast(x, float16)\nm = x > 0\n"
      "i = randint(0, 3, [3, 4])\nj = cast(i, int64)\nv = ones([4])\nc = ones([3, 1])");
  const std::string shared[] = {"A + B",
                                "A - B",
                                "A * B",
                                "A / B",
                                "A ** 2",
                                "A + v",
                                "c - A",
                                "A < B",
                                "maximum(A, B)",
                                "where(A > B, A, B)",
                                "concat(A, B)",
                                "concat([A, B], axis = 1)",
                                "stack(A, B, axis = 2)",
                                "A @ transpose(B)",
                                "A @ B.T",
                                "A + h",
                                "A + i",
                                "A + 1",
                                "A + 1.0",
                                "A + true",
                                "2 - A",
                                "sum(A, axis = 1)",
                                "sum(A, axis = [0, 1], keepdims = true)",
                                "A.sum(1)",
                                "log2(abs(A) + 1)",
                                "softmax(A, axis = 0)",
                                "tile(A, [1, 2])",
                                "A.reshape([4, 3])",
                                "A.reshape(12)",
                                "cast(A, int32)",
                                "cast(A, A.dtype)",
                                "topk(A, 2)",
                                "sort(A, axis = 1)",
                                "split(A, 2, axis = 1)",
                                "clip(A, -1, 1)",
                                "layer_norm(A, v, sum(B, axis = 0))",
                                "cross_entropy(A, array([0, 1, 3]))",
                                "take_along(A, i, axis = 1)",
                                "gather(A, array([2, 0]))",
                                "onehot(array([2, 0]), 3, [0.0, 1.0])",
                                "isnan(A / (B - A))",
                                "maximum(A, [B, B])",
                                "mean([A, B], axis = 0)",
                                "concat([A, [B, B]])",
                                "concat(A, A.reshape([3, 4]))",
                                "l2(A, axis = 0)"};
  const std::pair<std::string, std::string> operands[] = {{"x", "y"}, {"y", "x"}, {"x", "x"}, {"y", "y"}, {"x", "h"},
                                                          {"h", "x"}, {"i", "x"}, {"i", "j"}, {"m", "x"}, {"m", "i"}};
  s.run("w = x.reshape([4, 3])");  // shares the elements of x
  for (const std::string text :
       {"transpose(A) + w", "concat(A.reshape([4, 3]), w)", "A.reshape([4, 3]) @ transpose(w)"})
    for (const std::string a : {"x", "y", "x", "y", "x"}) {
      std::string call = text;
      call[call.find('A')] = a[0];
      CHECK(outcome(s, call) == general_outcome(s, call));
    }
  for (int round = 0; round < 4; ++round)
    for (const std::string& text : shared)
      for (const auto& [a, b] : operands) {
        std::string call;
        for (const char letter : text) call += letter == 'A' ? a : letter == 'B' ? b : std::string(1, letter);
        CAPTURE(call);
        CHECK(outcome(s, call) == general_outcome(s, call));
      }
}

TEST_CASE("calls whose attributes or errors depend on elements are made in the general way") {
  HostSession s;
  s.run("x = normal(0, 1, [3, 4])");
  const std::string calls[] = {"x.reshape(array([4, 3]))",
                               "x.reshape(array([2, 6]))",
                               "sum(x, axis = array(0))",
                               "sum(x, axis = array(1))",
                               "gather(x, array([0, 2], int64))",
                               "gather(x, array([0, 2 ** 40], int64))",
                               "gather(x, array([0, 3]))",
                               "gather(x, array([0, 1]))",
                               "clip(x, array(0.0), 1)",
                               "clip(x, array(0.5), 1)",
                               "x + ones([3])",
                               "x + ones([4])"};
  for (int round = 0; round < 4; ++round)
    for (const std::string& call : calls) {
      CAPTURE(call);
      CHECK(outcome(s, call) == general_outcome(s, call));
    }
}

TEST_CASE("a changed array changes no result that shares its memory") {
  HostSession s;
  s.run("x = ones([2, 3])\ny = x.reshape([3, 2])\nz = identity(x)\nx[0, 0] = 5\nz[1, 1] = 7");
  CHECK(s.shown("[x.sum(), y.sum(), z.sum()]") == "[10.0, 6.0, 12.0]");
}

#if defined(PXL_COUNTS_ALLOCATIONS)
TEST_CASE("the first call of a kind makes the program of those that follow") {
  HostSession s;
  s.run("x = ones([7, 3])\ng = ones([3])\nf = () => layer_norm(x, g, g)");
  const auto counted = [&] {
    const int64_t before = allocations;
    s.run("f()");
    return allocations - before;
  };
  const int64_t first = counted(), second = counted(), third = counted();
  CHECK(first > second + 50);
  CHECK(std::abs(second - third) < 10);
}

TEST_CASE("an op on arrays allocates its results and little else") {
  HostSession s;
  s.run("x = ones([100])\ny = ones([100])\na = ones([10, 10])\nm = a > 0");
  const auto counted = [&](const std::string& text, int times) {
    const std::string loop = "for step in range(" + std::to_string(times) + ") { result = " + text + " }";
    s.run(loop);  // makes the program of the call
    const int64_t before = allocations;
    s.run(loop);
    return allocations - before;
  };
  // An operator allocates the elements, the shape, the array as a value. A function allocates its arguments too. One
  // more is for memory that grows with the loop.
  const std::pair<std::string, int> bounds[] = {
      {"x - y", 4},  {"x * 2.0", 4},           {"a @ a", 4},          {"x < y", 4},
      {"exp(x)", 6}, {"sum(a, axis = 1)", 11}, {"where(m, a, a)", 6}, {"concat(a, a, axis = 1)", 7}};
  for (const auto& [text, bound] : bounds) {
    CAPTURE(text);
    constexpr int more = 100;
    const int64_t made = counted(text, 10 + more) - counted(text, 10);
    CHECK(made >= 2 * more);
    CHECK(made <= bound * more);
  }
}
#endif
