// Any bytes as a checkpoint: arrays or an Error that names the file.
#include "bytes_file.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/execute/checkpoints/checkpoint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const BytesFile file(data, size);
  try {
    int64_t bytes = 0;
    for (const pxl::NamedArray& entry : pxl::read_checkpoint(file.path)) bytes += entry.data.bytes();
    // Every byte of data belongs to one array, so there cannot be more than the file has.
    if (bytes > static_cast<int64_t>(size)) std::abort();
  } catch (const pxl::Error& error) {
    if (error.first().message.find(file.path) == std::string::npos) std::abort();
  }
  return 0;
}
