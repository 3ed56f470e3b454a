// Checks messages before the kernel's server handles them, since xeus assumes that all members exist.
#pragma once

#include <string>
#include <xeus/xmessage.hpp>

namespace pxl::jupyter {

/// Why the message does not follow the protocol, so that no reply is possible; empty if it does.
std::string message_problem(const xeus::xmessage& message);
/// Why the content does not fit the message's type; empty if it does.
std::string content_problem(const xeus::xmessage& message);

}  // namespace pxl::jupyter
