// Reads any bytes as an ONNX model. The outcome is an Error, or a model that can be written and read again, and whose
// tensors can be read or are refused.
#include "bytes_file.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/onnx/model.hpp"

namespace {

using namespace pxl::onnx;

template <class T>
void read(const T& tensor) {
  try {
    to_array(tensor, "/nowhere");
  } catch (const pxl::Error&) {
  }
}

void read_tensors(const Graph& graph) {
  for (const TensorData& t : graph.initialisers) read(t);
  for (const SparseTensor& t : graph.sparse_initialisers) read(t);
  for (const Node& node : graph.nodes)
    for (const Attribute& a : node.attributes) {
      if (a.tensor) read(*a.tensor);
      if (a.sparse) read(*a.sparse);
      if (a.graph) read_tensors(*a.graph);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const BytesFile file(data, size);
  try {
    const Model model = read_model(file.path);
    read_tensors(model.graph);
    const std::string written = serialise(model);
    if (serialise(parse_model(written, "written")) != written) std::abort();
  } catch (const pxl::Error& error) {
    if (error.first().message.empty()) std::abort();
  }
  return 0;
}
