// Printing a tensor while a program runs.
#pragma once

#include <string>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

enum class FloatFormat : uint8_t { automatic, fixed, scientific, none };

struct PrintFormat {
  std::string title = {};
  int64_t threshold = 1000;  ///< elements from which only the edges are shown
  int64_t edge_items = 3;
  int64_t line_width = 75;
  int64_t digits = 8;
  FloatFormat floats = FloatFormat::automatic;
  std::string separator = " ", open = "[", close = "]";
};

/// "title: [1.0 2.0]". Each axis but the last has one line per element. Ends with a newline.
std::string print_text(const Array& array, const PrintFormat& format);
/// in: t, and the replica's number and the number of replicas (int32[2]); out: t. Prints to standard error if `prints`.
/// If there are several replicas, the title has the suffix "_replica_{number}".
Kernel print_kernel(const TensorSpec& t, const PrintFormat& format, bool prints);

}  // namespace pxl
