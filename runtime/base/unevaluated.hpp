// What a look throws where it needs what it does not have.
#pragma once

namespace pxl {

/// Thrown where a look meets an effect that it refuses (effects.hpp), or needs a value that only a run gives: a result,
/// the elements of a large array. No std::exception, so that nothing takes it for an error.
struct Unevaluated {};

}  // namespace pxl
