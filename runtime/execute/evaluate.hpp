// The value of a tensor without a session, for eval(t).
#pragma once

#include "runtime/execute/observe.hpp"
#include "runtime/execute/streams.hpp"

namespace pxl {

/// Runs the ops that a main-graph tensor depends on, on the default engine (engine.hpp), from the variables' initial
/// values. No store, print or other op runs, unless the tensor is its result. The returned value is the one after the
/// last op, also if the tensor's memory is modified after its producer. In-place ops work on copies; the program is
/// unmodified. `inputs` are the required samples, in the form of Session::run; unused streams are ignored. Throws for
/// tensors of subgraphs, for missing streams (the error names all), and if an in-place update and a required access
/// have an ambiguous order.
Array evaluate(const Tensor& tensor, const StreamData& inputs = {}, RunObserver* observer = nullptr);

}  // namespace pxl
