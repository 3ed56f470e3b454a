// The value of a tensor without a session: what eval(t) shows.
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Runs the ancestors of a main-graph tensor from the variables' initial values; in-place ops, those ordered before it
/// included, work on copies, so nothing changes. Other ops, stores among them, do not run. Throws where it is a
/// subgraph's tensor or needs a stream (which it names).
Array evaluate(const Tensor& tensor);

}  // namespace pxl
