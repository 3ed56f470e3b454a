// MNIST: IDX files (plain or gzip) if found, otherwise digits from a built-in generator.
#pragma once

#include <string>

#include "runtime/tensor/array.hpp"
#include "runtime/tensor/random.hpp"

namespace pxl {

struct DigitSet {
  Array images;  ///< float32[n, 28, 28], normalised: (pixel / 255 - 0.1307) / 0.3081
  Array labels;  ///< int32[n]
};

struct Mnist {
  DigitSet train, test;
  bool built_in = false;
  std::string source;  ///< the folder, or "built-in digits"
};

/// Loads the folder in PXL_DATA, if it is set. Otherwise loads the first folder found: "shared/data/mnist" near the
/// project (from the executable and the working directory), then $XDG_CACHE_HOME/pxl/mnist (~/.cache/pxl/mnist). If no
/// folder has the four files, or without a search if PXL_DATA is "built-in", draws `train_size` and `test_size` digits.
/// Throws Error with file and defect if a file is corrupt.
Mnist load_mnist(int64_t train_size = 60000, int64_t test_size = 10000);

/// Reads an IDX file of unsigned bytes, of any rank, plain or gzip (detected by content), as a uint8 array.
Array read_idx(const std::string& path);

/// Draws handwritten-looking digits: strokes per digit, random affine and elastic distortion, thickness. Deterministic.
DigitSet draw_digits(int64_t count, uint64_t seed);

}  // namespace pxl
