// Exports graphs as ONNX models: a graph comes in, a model of opset 17 goes out, which other programs can read. If pxl
// imports the model again, the import computes the same values.
#pragma once

#include <map>
#include <string>

#include "runtime/graph/ir.hpp"
#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

constexpr int64_t export_opset = 17;

struct ExportOptions {
  std::string name;                        ///< name of the model's graph
  std::map<const Tensor*, Array> weights;  ///< values of variables and of named inputs. A variable without a value
                                           ///< keeps its initial one; an input without a value remains an input
};

/// Exports a graph. A main graph's inputs are the tensors that it loads from streams; its outputs are those that it
/// stores. Another graph keeps its inputs and declared outputs. Throws an Error that names every op without an ONNX
/// form, with its place. `raw` of the model's tensors points into `kept`.
Model export_graph(const pxl::Graph& graph, const ExportOptions& options, std::vector<Array>& kept);

}  // namespace pxl::onnx
