// The groups of builtins that bind_core_builtins and bind_data_builtins are made of.
#pragma once

#include "interpreter/values/interpreter.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {

void bind_math_builtins(Scope& prelude);     ///< abs, min, max, sum, round, pow, allclose (builtins_math.cpp)
void bind_mnist_builtin(Scope& prelude);     ///< mnist and its batches (mnist.cpp)
void bind_progress_builtin(Scope& prelude);  ///< progress (progress.cpp)
void bind_file_builtins(Scope& prelude);     ///< read_text, beside (files.cpp)
void bind_plot_builtin(Scope& prelude);      ///< plot (plot.cpp)
void bind_float8_builtins(Scope& prelude);   ///< host_pow2scale_cast_to_fp8 and _from_fp8 (float8.cpp)

/// What the argument nan_on_overflow says.
Float8Overflow float8_overflow(const ArgReader& a);

}  // namespace pxl
