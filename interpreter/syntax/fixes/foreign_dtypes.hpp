// Dtypes as other languages and frameworks write them.
#pragma once

#include <string>
#include <string_view>

namespace pxl::syntax {

/// "float32" of `f32`, `Float32` and `float_`; empty for a word that is no dtype elsewhere.
std::string dtype_of_word(std::string_view word);

}  // namespace pxl::syntax
