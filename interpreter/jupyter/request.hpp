// What a message must have before it is handled: the kernel's server checks it, since xeus takes members for granted.
#pragma once

#include <string>
#include <xeus/xmessage.hpp>

namespace pxl::jupyter {

/// Why the message is no message of the protocol, so that nobody can be answered; empty if it is one.
std::string message_problem(const xeus::xmessage& message);
/// Why the content of such a message is not what its type demands; empty if it is.
std::string content_problem(const xeus::xmessage& message);

}  // namespace pxl::jupyter
