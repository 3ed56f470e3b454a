// The kernel's sockets: messages are checked before xeus sees them. Every release of xeus has the class of a server;
// the sockets of xeus read the parts of a message uncounted, so these are ours.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <xeus/xeus_context.hpp>
#include <xeus/xserver.hpp>

namespace pxl::jupyter {

std::unique_ptr<xeus::xcontext> make_context();

/// For xkernel's constructor. Invalid messages are dropped, with a line on standard error; an interrupt while no
/// message is handled is ignored.
std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& configuration,
                                           nlohmann::json::error_handler_t errors);

}  // namespace pxl::jupyter
