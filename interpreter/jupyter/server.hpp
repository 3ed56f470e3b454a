// The kernel's sockets: xeus's server with validation of incoming messages. Releases of xeus before the third have
// sockets themselves (server_xeus2.cpp), later ones have them in xeus-zmq (server_xeus_zmq.cpp); a build has one of the
// files.
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

/// Whether a server has begun to close its sockets: exceptions of xeus's threads say nothing then.
bool is_closing();

}  // namespace pxl::jupyter
