// The kernel's sockets: xeus's server, but what comes in is checked before xeus takes it apart. xeus 2.4 ends the
// process at messages of too few parts, and at content without the members that it expects.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <xeus/xeus_context.hpp>
#include <xeus/xserver.hpp>

namespace pxl::kernel {

/// For xkernel's constructor. Messages that are not of the protocol are dropped, with a line on standard error; an
/// interrupt while no message is handled is forgotten.
std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& configuration,
                                           nlohmann::json::error_handler_t errors);

}  // namespace pxl::kernel
