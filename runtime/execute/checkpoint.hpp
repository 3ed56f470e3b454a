// Checkpoints in the safetensors format: 8 bytes (little-endian) with the length of a JSON header, the header
// {"name": {"dtype", "shape", "data_offsets": [begin, end]}, ...}, then the data without gaps
// (https://github.com/huggingface/safetensors).
#pragma once

#include <string>
#include <vector>

#include "runtime/tensor/array.hpp"

namespace pxl {

struct NamedArray {
  std::string name;
  Array data;
};

/// Atomic: an existing file is replaced as a whole or left as it is.
void write_checkpoint(const std::string& path, const std::vector<NamedArray>& arrays);

/// The arrays, in order of their data. Throws Error (Fault::unreadable) with the file and the defect.
std::vector<NamedArray> read_checkpoint(const std::string& path);

}  // namespace pxl
