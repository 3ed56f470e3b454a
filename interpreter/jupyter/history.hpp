// The inputs of a notebook session, for history requests: xeus's manager, but for requests out of range, at which
// xeus 2.4 reads beyond its list.
#pragma once

#include <memory>
#include <xeus/xhistory_manager.hpp>

namespace pxl::jupyter {

/// For xkernel's constructor. Keeps the inputs of this process in memory; every request has an answer, an empty one
/// where nothing matches. Ranges are half-open in line numbers; sessions other than 0 and the latest one are unknown.
std::unique_ptr<xeus::xhistory_manager> make_history();

}  // namespace pxl::jupyter
