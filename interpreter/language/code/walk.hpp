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
  Walk(Interpreter& in, Value iterable, const Span& at) : in_(in), at_(at), iterable_(std::move(iterable)) {
    sequence_ = iterable_.as<SequenceObject>();
    text_ = iterable_.as<StringObject>();
    range_ = iterable_.as<RangeObject>();
    if (sequence_ || text_) return;
    located(in, at_, [&] {
      if (range_)
        length_ = range_->length(in).value_or(0);
      else
        iterator_ = iterator_of(in, iterable_);
    });
  }
  /// Moves to the next element; returns false at the end. Throws Interrupted.
  PXL_INLINE bool next(Value& out) {
    charge(round_ns);
    if (static_cast<uint64_t>(next_) % polled_rounds == 0) metering::poll();
    if (sequence_) {
      if (static_cast<size_t>(next_) >= sequence_->items.size()) return false;
      out = sequence_->items[static_cast<size_t>(next_++)];
      return true;
    }
    if (range_) {
      if (next_ >= length_) return false;
      out = range_->at(next_++);
      return true;
    }
    if (text_) {
      if (offset_ >= text_->value.size()) return false;
      out = text_->character_at(offset_);
      ++next_;
      return true;
    }
    return next_of_iterator(out);
  }
  /// The number of elements if it is known and not large, otherwise 0.
  size_t reserved() const {
    constexpr size_t most = 4096;  // a list that grows from this size is rarely copied
    return std::min(most, sequence_ ? sequence_->items.size() : range_ ? static_cast<size_t>(length_) : size_t{0});
  }

 private:
  __attribute__((noinline)) bool next_of_iterator(Value& out) {
    return located(in_, at_, [&] { return iterator_.next(out); });
  }
  static constexpr int64_t round_ns = 100;  // cost of a round besides its body
  static constexpr uint64_t polled_rounds = 16;
  Interpreter& in_;
  const Span& at_;
  Value iterable_;
  SequenceObject* sequence_;
  StringObject* text_;
  RangeObject* range_;
  Iterator iterator_;
  int64_t next_ = 0, length_ = 0;
  size_t offset_ = 0;
};

}  // namespace pxl
