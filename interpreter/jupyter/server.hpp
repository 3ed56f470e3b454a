// The kernel's sockets: xeus's server with validation of incoming messages. xeus 2.4 ends the process for messages of
// too few parts, and for content without the expected members.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <xeus/xeus_context.hpp>
#include <xeus/xserver.hpp>

namespace pxl::jupyter {

/// For xkernel's constructor. Invalid messages are dropped, with a line on standard error; an interrupt while no
/// message is handled is ignored.
std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& configuration,
                                           nlohmann::json::error_handler_t errors);

}  // namespace pxl::jupyter
