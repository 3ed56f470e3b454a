// Stores a notebook session's inputs for history requests. It replaces the manager of xeus 2.4, which reads beyond its
// list if a request is out of range.
#pragma once

#include <memory>
#include <xeus/xhistory_manager.hpp>

namespace pxl::jupyter {

/// Makes the history for xkernel's constructor. Keeps the inputs of this process in memory; Every request has an
/// answer, which is empty if nothing matches. Ranges are half-open in line numbers; sessions other than 0 and the
/// latest one are unknown.
std::unique_ptr<xeus::xhistory_manager> make_history();

}  // namespace pxl::jupyter
