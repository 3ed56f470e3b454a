// Imports ONNX models into a program.
#pragma once

#include "interpreter/onnx/import.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Evaluates the text of an imported model. Returns its module.
Value evaluate_import(Interpreter& in, const onnx::Imported& imported, const std::string& shown);

class Evaluator;
/// Adds the importer for `from "model.onnx" import Model`.
void add_onnx_importer(Evaluator& evaluator);

}  // namespace pxl
