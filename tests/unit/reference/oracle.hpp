// Comparing a row's kernel with its definition on one sample.
#pragma once

#include <string>

#include "../ops/samples.hpp"

namespace pxl::test {

/// The outcome of a sample.
struct Verdict {
  bool taken = false;           ///< inference took it
  std::string difference = {};  ///< empty where kernel and definition agree
  Attributes attrs = {};        ///< as the op has them, defaults filled in
  int64_t halves = 0;           ///< elements of float16 results
  int64_t other_halves = 0;     ///< those that are not the definition's bits
};

/// Runs the kernel and the definition of a row on a sample: results, operands changed in place and errors must agree.
/// The kernel also runs in place where the row allows it.
Verdict compare(const OpRow& row, const Sample& sample);

}  // namespace pxl::test
