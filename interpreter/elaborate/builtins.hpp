// The groups of builtins that bind_core_builtins and bind_data_builtins are made of.
#pragma once

#include "interpreter/elaborate/interpreter.hpp"

namespace pxl {

void bind_math_builtins(Scope& prelude);     ///< abs, min, max, sum, round, pow, allclose (builtins_math.cpp)
void bind_mnist_builtin(Scope& prelude);     ///< mnist and its batches (mnist.cpp)
void bind_progress_builtin(Scope& prelude);  ///< progress (progress.cpp)
void bind_file_builtins(Scope& prelude);     ///< read_text, beside (files.cpp)
void bind_plot_builtin(Scope& prelude);      ///< plot (plot.cpp)

}  // namespace pxl
