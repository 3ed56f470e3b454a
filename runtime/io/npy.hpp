// NumPy's .npy files, versions 1.0 to 3.0, little-endian, C or Fortran order (converted).
#pragma once

#include <string>

#include "runtime/tensor/array.hpp"

namespace pxl {

/// Bytes that are read once, in order.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual int64_t size() const = 0;
  /// Returns the number of bytes, less than requested at the end and where reading fails.
  virtual int64_t read(void* to, int64_t bytes) = 0;
};

/// `name` is the file's, for errors.
Array read_npy(ByteSource& source, const std::string& name);
/// The spec of the array, from the file's header alone.
TensorSpec read_npy_header(ByteSource& source, const std::string& name);
/// The bytes of the file. Throws Error naming `name` for a dtype that NumPy has not.
std::string npy_bytes(const Array& array, const std::string& name);

Array load_npy(const std::string& path);
TensorSpec load_npy_header(const std::string& path);
/// Written to a temporary file beside `path` and renamed.
void save_npy(const std::string& path, const Array& array);

}  // namespace pxl
