// The engines of the table.
#pragma once

#include "runtime/execute/engine.hpp"

namespace pxl {

/// Plans, fuses, runs kernels (program.hpp).
std::unique_ptr<ExecutionEngine> make_planned_engine(const EngineTask& task);
/// Walks the graph and runs the definition of each op. Tensors are addresses of elements, so that a view shares the
/// memory of what it is a view of by construction.
std::unique_ptr<ExecutionEngine> make_reference_engine(const EngineTask& task);

}  // namespace pxl
