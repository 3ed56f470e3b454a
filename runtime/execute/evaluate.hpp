// The value of a tensor without a session, for eval(t).
#pragma once

#include "runtime/execute/observe.hpp"
#include "runtime/execute/streams.hpp"

namespace pxl {

/// Runs what a main-graph tensor needs on the default engine (engine.hpp), from the variables' initial values, and
/// nothing else: no store, no print, no other op, unless the tensor is a result of it. The value is that after the last
/// op, also where the tensor's memory is changed after the op that made it. In-place ops work on copies; the program is
/// as it was. `inputs` are the samples that it needs, in the form of Session::run; streams that it does not need are
/// passed over. Throws where it is a subgraph's tensor, where a stream that it needs is not given (all are named), and
/// where the order of an in-place update and a use that it needs is open.
Array evaluate(const Tensor& tensor, const StreamData& inputs = {}, RunObserver* observer = nullptr);

}  // namespace pxl
