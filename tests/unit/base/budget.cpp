// The meter of work and memory: who charges is bounded, and hears interrupts.
#include "runtime/base/limits/budget.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/limits/interrupt.hpp"

using namespace pxl;

namespace {

OverBudget::Resource exceeded(const std::function<void()>& work) {
  try {
    work();
  } catch (const OverBudget& over) {
    return over.resource;
  }
  FAIL("within the budget");
  return {};
}

}  // namespace

TEST_CASE("without a budget a charge only polls") {
  CHECK(current_budget() == nullptr);
  for (int i = 0; i < 1000; ++i) charge(1'000'000'000);
  charge_steps(INT64_MAX, INT64_MAX);
  request_interrupt();
  CHECK_THROWS_AS(charge(1'000'000), Interrupted);
  charge(1'000'000);  // one request ends one piece of work
}

TEST_CASE("work beyond the budget ends a part, and then the look") {
  BudgetLimits limits;
  limits.work_ns = 3'000'000;
  limits.part_ns = 1'000'000;
  Budget budget(limits);
  const BudgetScope scope(&budget);
  CHECK(current_budget() == &budget);
  charge(1'500'000);  // before the first part only the whole counts
  budget.begin_part();
  charge(500'000);
  CHECK(exceeded([] { charge(600'000); }) == OverBudget::Resource::work);
  CHECK(exceeded([] { charge(20'000); }) == OverBudget::Resource::work);
  CHECK_FALSE(budget.spent());
  budget.begin_part();
  CHECK(exceeded([] { charge(INT64_MAX / 4); }) == OverBudget::Resource::work);
  CHECK(budget.spent());
  budget.begin_part();
  CHECK(exceeded([] { charge(20'000); }) == OverBudget::Resource::work);
}

TEST_CASE("the heap counts, and large blocks are refused where they are asked for") {
  BudgetLimits limits;
  limits.cpu_ns = 100'000'000'000;  // a first write to a page may take microseconds
  Budget budget(limits);
  const BudgetScope scope(&budget);
  CHECK(exceeded([] { std::string text(size_t{1} << 30, 'x'); }) == OverBudget::Resource::memory);
  {
    const std::vector<char> half(static_cast<size_t>(budget.limits().memory_bytes / 2));
    charge(100'000);
  }
  // Freed memory may be taken again.
  for (int i = 0; i < 4; ++i) {
    const std::vector<char> half(static_cast<size_t>(budget.limits().memory_bytes / 2));
    CHECK_FALSE(half.empty());
  }
  CHECK(exceeded([] {
          std::vector<std::vector<int>> many;
          for (;;) {
            charge(1);
            many.emplace_back(1000);
          }
        }) == OverBudget::Resource::memory);
}

TEST_CASE("a look can be cancelled on its own, and leaves interrupts to others") {
  std::atomic<bool> cancelled = false;
  Budget budget({}, &cancelled);
  const BudgetScope scope(&budget);
  request_interrupt();
  charge(100'000);
  CHECK(interrupt_requested());
  clear_interrupt();
  cancelled = true;
  CHECK_THROWS_AS(charge(100'000), Interrupted);
}

TEST_CASE("a budget is that of its thread and its scope") {
  Budget outer, inner;
  const BudgetScope scope(&outer);
  {
    const BudgetScope more(&inner);
    CHECK(current_budget() == &inner);
    std::thread([] { CHECK(current_budget() == nullptr); }).join();
  }
  CHECK(current_budget() == &outer);
}

TEST_CASE("chunks cover each element once and charge for it") {
  int64_t seen = 0;
  charged_chunks(200'001, 1, [&](int64_t begin, int64_t end) {
    CHECK(begin == seen);
    seen = end;
  });
  CHECK(seen == 200'001);
  BudgetLimits limits;
  limits.work_ns = 100'000;
  Budget budget(limits);
  const BudgetScope scope(&budget);
  CHECK(exceeded([] { charged_chunks(INT64_MAX, 1, [](int64_t, int64_t) {}); }) == OverBudget::Resource::work);
}
