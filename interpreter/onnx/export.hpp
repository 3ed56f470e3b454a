// Graphs as ONNX models: a graph in, a model of opset 17 out, which other readers take. What pxl imports again computes
// the same.
#pragma once

#include <map>
#include <string>

#include "runtime/graph/ir.hpp"
#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

constexpr int64_t export_opset = 17;

struct ExportOptions {
  std::string name;                        ///< of the model's graph
  std::map<const Tensor*, Array> weights;  ///< values of variables and of named inputs; variables keep their initial
                                           ///< value where there is none, inputs remain inputs of the model
};

/// A main graph: what it loads from streams are the model's inputs, what it stores are its outputs. Another graph: its
/// inputs and declared outputs. Throws Error that names every op without a form in ONNX, with its place. `raw` of the
/// model's tensors points into `kept`.
Model export_graph(const pxl::Graph& graph, const ExportOptions& options, std::vector<Array>& kept);

}  // namespace pxl::onnx
