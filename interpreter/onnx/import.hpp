// Imports ONNX models as programs. A model comes in; the text of a module goes out, with the arrays that the text
// reads. The module's `build` makes the graph in order. An evaluation of the model runs this text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/syntax/program_text.hpp"
#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

/// How one ONNX op is written as an expression, for a range of opsets. The rows of an op are tried in order.
struct ImportRow {
  std::string_view op;
  int since = 1, until = 1 << 20;  ///< opset versions, both included
  /// An expression with placeholders, or "*". "*" calls a function of the library's module `onnx`. Its name is the op's
  /// in lower case, or the text after the "*". Its arguments are the node's inputs, then its attributes by name.
  ///   {0}            the first input, or `none` if it is absent; {*} all inputs
  ///   {0:ints}       an input that must be known while the graph is built, as a list of ints; also floats,
  ///                one number as int1 and float1, host for an array, and axes for ints, where no ints are `none`
  ///   {axis}         an attribute; {axis|1} with its default; {to:dtype}, {x:lower}, {x:axes} as above;
  ///                {outputs} the number of outputs
  ///   {,stride=X}    ", stride = ..." if X, an input or an attribute as above, is present; otherwise nothing
  FixedText text = "*";
  /// Conditions, separated by commas: "1" input 1 is there, "!1" it is not, "a=1" the attribute a is there and 1,
  /// "a~1" it is 1 or not there, "outputs=2" the node has two outputs; of loops "steady", "plain", "conditional"
  /// (import_loops.hpp); "optional" a graph of the node gives an optional.
  std::string_view when = {};
  std::string_view host = {};  ///< inputs that must be known while the graph is built, besides those of `text`
  bool several = false;        ///< the expression is a tuple or a list of the node's outputs
  std::string_view domain = {};
};
std::span<const ImportRow> import_rows();
/// The first row that fits a node; null if there is none. Without `judging_loops` no row with the condition "steady"
/// fits.
const ImportRow* find_row(const Node& node, int64_t opset, bool judging_loops = true);

struct ImportOptions {
  std::string title;         ///< first line of the text: the origin of the import
  std::string weights_path;  ///< file of the arrays, as the text reads it; empty: the text expects a dict `weights`
};

struct ImportedInput {
  std::string name;   ///< in the model
  bool host = false;  ///< must be known while the graph is built
};
struct Imported {
  ProgramText text;
  std::vector<std::pair<std::string, Array>> weights;
  std::vector<ImportedInput> inputs;
  std::vector<std::string> outputs;
};

/// Throws Error that names every node that cannot be imported, with the reason.
Imported import_model(Model model, const ImportOptions& options);

}  // namespace pxl::onnx
