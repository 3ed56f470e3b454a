// The kernel's sockets: messages are checked before xeus sees them. Every release of xeus has the server class. The
// sockets are ours, because those of xeus read an unlimited number of message parts.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <xeus/xeus_context.hpp>
#include <xeus/xserver.hpp>

namespace pxl::jupyter {

std::unique_ptr<xeus::xcontext> make_context();

/// Makes the server for xkernel's constructor. Invalid messages are dropped, with a line on standard error; an
/// interrupt between messages is ignored.
std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& configuration,
                                           nlohmann::json::error_handler_t errors);

}  // namespace pxl::jupyter
