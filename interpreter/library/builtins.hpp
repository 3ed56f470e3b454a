// The names that every program sees, in groups.
#pragma once

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/scope.hpp"

namespace pxl {

void bind_core_builtins(Interpreter& in, Scope& prelude);   ///< Python-like functions (builtins.cpp)
void bind_op_builtins(Interpreter& in, Scope& prelude);     ///< ops, bound from the op table (op_builtins.cpp)
void bind_data_builtins(Interpreter& in, Scope& prelude);   ///< arrays, random draws, load, save, mnist, progress
void bind_graph_builtins(Interpreter& in, Scope& prelude);  ///< call, autodiff, Session, in_sequence, host_load, ...

// The groups that make up bind_core_builtins and bind_data_builtins.
void bind_math_builtins(Scope& prelude);      ///< abs, min, max, sum, round, pow, allclose (builtins_math.cpp)
void bind_counting_builtins(Scope& prelude);  ///< nonzero, bincount, unique (counting.cpp)
void bind_mnist_builtin(Scope& prelude);      ///< mnist and its batches (mnist.cpp)
void bind_data_set_builtins(Scope& prelude);  ///< of the module data: data sets, files (data/data_sets.cpp)
void bind_batches_builtin(Scope& prelude);    ///< of the module data (data/batches.cpp)
void bind_replay_builtin(Scope& prelude);     ///< of the module data (data/replay.cpp)
void bind_progress_builtin(Scope& prelude);   ///< progress (progress.cpp)
void bind_file_builtins(Scope& prelude);      ///< read_text, write_text, list_files, beside (files.cpp)
void bind_format_builtins(Scope& prelude);    ///< load, save (formats.cpp)
void bind_json_builtins(Scope& prelude);      ///< to_json, from_json, append_json (json.cpp)
void bind_plot_builtin(Scope& prelude);       ///< plot (plot.cpp)
void bind_onnx_builtins(Scope& prelude);      ///< load_onnx, load_arrays (onnx.cpp)
void bind_float8_builtins(Scope& prelude);    ///< host_pow2scale_cast_to_fp8 and _from_fp8 (float8.cpp)

}  // namespace pxl
