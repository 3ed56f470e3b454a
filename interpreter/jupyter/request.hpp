// What a message must have before it is handled: the kernel's server checks it, since xeus takes members for granted.
#pragma once

#include <string>
#include <xeus/xmessage.hpp>

namespace pxl::jupyter {

/// Why the message is no request of the protocol; empty if it is one.
std::string request_problem(const xeus::xmessage& message);

}  // namespace pxl::jupyter
