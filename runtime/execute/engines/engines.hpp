// Functions that make the engines in the table.
#pragma once

#include "runtime/execute/engines/engine.hpp"

namespace pxl {

#define PXL_ENGINE(name, doc) std::unique_ptr<ExecutionEngine> make_##name##_engine(const EngineTask& task);
#include "runtime/execute/engines/engines.inc"
#undef PXL_ENGINE

}  // namespace pxl
