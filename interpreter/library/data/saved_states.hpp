// A checkpoint may have states beside its variables: batches, replays, the script's random numbers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/library/data/data_source.hpp"
#include "runtime/tensor/named_array.hpp"

namespace pxl {

/// The arrays in a checkpoint for `data`, a dict of batches and replays by name; empty for none.
std::vector<NamedArray> states_beside(Interpreter& in, const Value& data);

/// Resumes the objects of `data` from a checkpoint. Without `keep` they are at its end as they were before.
class ResumedStates {
 public:
  /// Throws Error, and changes nothing, if the file lacks the state of an object, or has that of another kind.
  ResumedStates(Interpreter& in, const std::string& path, const Value& data);
  ~ResumedStates();
  ResumedStates(const ResumedStates&) = delete;
  ResumedStates& operator=(const ResumedStates&) = delete;
  void keep() { before_.clear(); }

 private:
  void take_back();
  std::vector<std::function<void()>> before_;
};

}  // namespace pxl
