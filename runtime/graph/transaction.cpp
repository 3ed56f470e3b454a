#include "runtime/graph/transaction.hpp"

#include <algorithm>
#include <atomic>

namespace pxl {
namespace {

thread_local GraphTransaction* innermost = nullptr;
std::atomic<uint64_t> latest{0};
constexpr const char* taken_back_memo = "taken_back";

/// Moments between which everything that was made of an Ir is gone.
using Periods = std::vector<std::pair<uint64_t, uint64_t>>;

}  // namespace

GraphTransaction::GraphTransaction(Save save)
    : save_(std::move(save)), outer_(innermost), begun_(latest.load(std::memory_order_relaxed)) {
  innermost = this;
}

void GraphTransaction::end() {
  if (!open_) return;
  open_ = false;
  innermost = outer_;
  if (!outer_) return;
  for (const Marked& m : marked_)
    if (!outer_->knows(m.ir)) outer_->marked_.push_back(m);
  outer_->made_.insert(outer_->made_.end(), made_.begin(), made_.end());
}

const GraphTransaction::Marked* GraphTransaction::find(const Ir* ir) const {
  const auto at = std::ranges::find(marked_, ir, &Marked::ir);
  return at == marked_.end() ? nullptr : &*at;
}

// The newest ones are changed most.
bool GraphTransaction::knows(const Ir* ir) const {
  return std::find(made_.rbegin(), made_.rend(), ir) != made_.rend() || find(ir) != nullptr;
}

void GraphTransaction::forget(const Ir* ir) {
  std::erase_if(marked_, [&](const Marked& m) { return m.ir == ir; });
  std::erase(made_, ir);
}

void GraphTransaction::changing(Ir& ir) {
  if (!innermost || innermost->knows(&ir)) return;
  const GraphTransaction::Save* save = nullptr;
  for (const GraphTransaction* t = innermost; t && !save; t = t->outer_)
    if (t->save_) save = &t->save_;
  innermost->marked_.push_back({&ir, ir.mark(), save ? (*save)(ir) : nullptr});
}

void GraphTransaction::made(const Ir* ir) {
  for (GraphTransaction* t = innermost; t; t = t->outer_) t->forget(ir);  // another Ir had its address
  if (innermost) innermost->made_.push_back(ir);
}

void GraphTransaction::destroyed(const Ir* ir) {
  for (GraphTransaction* t = innermost; t; t = t->outer_) t->forget(ir);
}

void GraphTransaction::end_taken_back(const std::vector<Ir*>& irs) {
  for (Ir* ir : irs) {
    auto& slot = ir->memo[taken_back_memo];
    auto periods =
        slot ? std::make_shared<Periods>(*std::static_pointer_cast<const Periods>(slot)) : std::make_shared<Periods>();
    periods->emplace_back(begun_, moment());
    slot = periods;
  }
  marked_.clear();
  end();
}

uint64_t GraphTransaction::moment() { return latest.fetch_add(1, std::memory_order_relaxed) + 1; }

bool GraphTransaction::was_taken_back(const Ir& ir, uint64_t at) {
  const auto slot = ir.memo.find(taken_back_memo);
  if (slot == ir.memo.end()) return false;
  const auto& periods = *std::static_pointer_cast<const Periods>(slot->second);
  return std::ranges::any_of(periods, [&](const auto& p) { return p.first < at && at < p.second; });
}

}  // namespace pxl
