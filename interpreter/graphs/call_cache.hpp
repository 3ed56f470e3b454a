// Calls of ops on small arrays that were made before with arguments of the same kinds, dtypes and shapes. Converting
// and checking arguments, inference and the choice of kernels take microseconds, kernels of a hundred elements tens of
// nanoseconds: from the second call on only the kernels run (runtime/ops/eager_program.hpp).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "interpreter/values/value.hpp"
#include "runtime/ops/eager_program.hpp"

namespace pxl {

/// What the result of a call depends on, besides the elements of arrays, as words: calls with equal words differ in
/// these only.
class CallKey {
 public:
  static constexpr int max_list_depth = 2;

  explicit CallKey(const OpRow& row);
  /// The next argument. The call has no key if it is another object than an array, a string, a dtype, a list or a
  /// tuple, or if there are too many.
  void read(const Value& v) { has_key_ = has_key_ && add_value(v, 0); }
  void read(const NamedArg& arg);
  /// Whether the call has a key: it has arrays, all arguments could be read, and the op has no effects.
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
  /// What is known of the calls of a key.
  struct Entry {
    std::vector<uint64_t> words;  ///< empty: the entry is free
    bool refused = false;         ///< such calls have no program
    std::optional<EagerProgram> program;
  };

  /// The cache of this thread: entries of threads need no locks.
  static CallCache& of_thread();

  /// The entry of such calls; a new one has no program and is not refused.
  Entry& find(const CallKey& key);
  /// Memory for the results of a program's ops.
  std::vector<Array>& scratch() { return scratch_; }

 private:
  static constexpr size_t sets = 128;  // of two entries: the last used one, and one more
  std::vector<Entry> entries_;
  std::vector<Array> scratch_;
};

}  // namespace pxl
