// The exception of a look that needs something that it does not have.
#pragma once

namespace pxl {

/// Thrown if a look meets an effect that it refuses (effects.hpp), or needs a value that only a run produces: a result,
/// or the elements of a large array. No std::exception, so that nothing takes it for an error.
struct Unevaluated {};

}  // namespace pxl
