// How messages call tensors and graphs: by the user's own text, not by the names that the IR makes.
#pragma once

#include <string>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// A result of an op has the text of its expression, `conv2(y)`, if that is short; other tensors their name, without
/// the number that makes it unique.
std::string shown_name(const Tensor& tensor);
/// The same as the base of a member: `(w + 1.0)`.
std::string operand_text(const Tensor& tensor);
/// Whether it is a variable or constant without a name of its own: an array beside tensors, `variable([1.0])`.
bool is_unnamed(const Tensor& tensor);
/// The text of its expression if that is short, else the name of the op.
std::string shown_name(const Op& op);
/// The function that the user's text calls to make the op, `repeat_while`; the name of the op if there is none.
std::string called_name(const Op& op);
/// The name of the function or module that the graph was made of, or "the main graph".
std::string shown_name(const Graph& graph);

}  // namespace pxl
