// Any bytes as an ONNX model: a model whose tensors can be read or are refused, or an Error.
#include "bytes_file.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/onnx/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const BytesFile file(data, size);
  try {
    const pxl::onnx::Model model = pxl::onnx::read_model(file.path);
    for (const pxl::onnx::TensorData& t : model.graph.initialisers) {
      try {
        pxl::onnx::to_array(t, "/nowhere");
      } catch (const pxl::Error&) {
      }
    }
  } catch (const pxl::Error& error) {
    if (error.first().message.empty()) std::abort();
  }
  return 0;
}
