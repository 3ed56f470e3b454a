// Any bytes as an IDX file, plain or gzip: an array of bytes or an Error.
#include "bytes_file.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/io/dataset.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const BytesFile file(data, size);
  try {
    const pxl::Array array = pxl::read_idx(file.path);
    if (array.dtype() != pxl::DType::uint8 || array.rank() == 0) std::abort();
  } catch (const pxl::Error& error) {
    if (error.first().message.empty()) std::abort();
  }
  return 0;
}
