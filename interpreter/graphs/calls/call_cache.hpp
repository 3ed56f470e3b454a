// A cache of earlier op calls on small arrays, keyed by the kinds, dtypes and shapes of their arguments. Converting and
// checking arguments, inference and the choice of kernels take microseconds; kernels on a hundred elements take tens of
// nanoseconds. Only the kernels run from the second call on (runtime/ops/eager_program.hpp).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "interpreter/values/value.hpp"
#include "runtime/ops/eager_program.hpp"

namespace pxl {

/// Everything that determines a call's result, except the elements of arrays, as words. Calls with equal words differ
/// in these elements only.
class CallKey {
 public:
  static constexpr int max_list_depth = 2;

  explicit CallKey(const OpRow& row);
  /// Adds the next argument. The call has no key if it has too many arguments. Arguments must be numbers, none, arrays,
  /// strings, dtypes, lists or tuples; a call with another object has no key.
  void read(const Value& v) { has_key_ = has_key_ && add_value(v, 0); }
  void read(const NamedArg& arg);
  /// Whether the call has a key: it has arrays, all its arguments could be read, and its op has no effects.
  explicit operator bool() const { return has_key_ && array_count_ > 0; }

  std::span<const uint64_t> words() const { return {words_.data(), size_}; }
  /// The arrays among the arguments, in order.
  std::span<const Array* const> arrays() const { return {arrays_.data(), array_count_}; }

 private:
  bool add(uint64_t word) {
    if (size_ == words_.size()) return false;
    words_[size_++] = word;
    return true;
  }
  bool add_value(const Value& v, int depth);
  bool add_array(const Array& a);
  bool add_text(std::string_view text);

  std::array<uint64_t, 320> words_;
  std::array<const Array*, 64> arrays_;
  size_t size_ = 0, array_count_ = 0;
  bool has_key_;
};

class CallCache {
 public:
  /// The entry for the calls with one key.
  struct Entry {
    std::vector<uint64_t> words;  ///< empty if the entry is free
    bool refused = false;         ///< calls with this key have no program
    std::optional<EagerProgram> program;
  };

  /// The cache of this thread. Each thread has its own entries, which need no locks.
  static CallCache& of_thread();

  /// The entry for a key. A new entry has no program and is not refused.
  Entry& find(const CallKey& key);
  /// Memory for the results of a program's ops.
  std::vector<Array>& scratch() { return scratch_; }

 private:
  static constexpr size_t sets = 128;  // each set has two entries: the last used one, and another
  std::vector<Entry> entries_;
  std::vector<Array> scratch_;
};

}  // namespace pxl
