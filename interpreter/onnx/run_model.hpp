// A program that runs a model: what a look at the model's file builds.
#pragma once

#include <string>

#include "interpreter/syntax/ast.hpp"

namespace pxl::onnx {

/// Imports the file, declares a program with a stream for each input and output, and makes its session. Named extents,
/// and extents without a name or a number, are parameters of the program with the default 1. Throws
/// Error if the model cannot be imported, and if an input must be known while the graph is built.
ast::TreePtr program_of_model(const std::string& path);

}  // namespace pxl::onnx
