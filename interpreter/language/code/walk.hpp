// A walk over the elements of a value, as loops and comprehensions do it. The elements of lists, tuples, ranges and
// strs are read in place.
#pragma once

#include <algorithm>

#include "interpreter/language/located.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl {

class Walk {
 public:
  /// Errors are located at `at`.
  Walk(Interpreter& in, Value iterable, const Span& at)
      : in_(in), at_(at), cursor_(located(in, at_, [&] { return Cursor(in, std::move(iterable)); })) {}
  /// Moves to the next element; returns false at the end. Throws Interrupted.
  PXL_INLINE bool next(Value& out) {
    begin_round();
    return cursor_.is_in_place() ? cursor_.next_in_place(out) : next_of_iterator(out);
  }
  /// The number of values in each element, if next_row can set them; otherwise 0.
  size_t width() const { return cursor_.width(); }
  /// Moves to the next element, as Iterator::next_row does.
  bool next_row(Value* out) {
    begin_round();
    return located(in_, at_, [&] { return cursor_.next_row(out); });
  }
  /// The number of elements if it is known and not large, otherwise 0.
  size_t reserved() const {
    constexpr size_t most = 4096;  // a list that grows from this size is rarely copied
    return std::min(most, cursor_.length());
  }

 private:
  PXL_INLINE void begin_round() {
    charge(round_ns);
    if (++rounds_ % polled_rounds == 0) metering::poll();
  }
  __attribute__((noinline)) bool next_of_iterator(Value& out) {
    return located(in_, at_, [&] { return cursor_.next(out); });
  }
  static constexpr int64_t round_ns = 100;  // cost of a round besides its body
  static constexpr uint64_t polled_rounds = 16;
  Interpreter& in_;
  const Span& at_;
  Cursor cursor_;
  uint64_t rounds_ = 0;
};

}  // namespace pxl
