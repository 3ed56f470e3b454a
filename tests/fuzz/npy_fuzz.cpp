// Any bytes as a .npy file: an array whose elements can all be read, or an Error.
#include "bytes_file.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/io/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const BytesFile file(data, size);
  try {
    const pxl::Array array = pxl::load_npy(file.path);
    // A bool other than 0 or 1 would be undefined behaviour to read; the sanitizer watches.
    for (int64_t i = 0; i < array.size(); ++i)
      if (array.dtype() == pxl::DType::boolean && array.number(i) > 1) std::abort();
  } catch (const pxl::Error& error) {
    if (error.first().message.empty()) std::abort();
  }
  return 0;
}
