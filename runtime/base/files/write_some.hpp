// One step of a write to a descriptor that may not block: a pipe or a terminal that a parent set to O_NONBLOCK.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace pxl {

/// Writes the bytes that `fd` accepts now and returns their number. Returns 0 after a signal, or after `fd` accepted
/// nothing for 50 ms: the caller checks for an interrupt and calls again. Returns -errno on an error.
ssize_t write_some(int fd, std::string_view bytes) noexcept;

}  // namespace pxl
