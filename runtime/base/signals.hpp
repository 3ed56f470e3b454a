// Handlers of signals that leave the stack of the interrupted code alone.
#pragma once

namespace pxl {

/// Calls `handler` on a stack of its own when Ctrl-C is pressed; system calls go on. The code of a product that a
/// library makes at run time may hold live data below the stack pointer.
void handle_interrupts(void (*handler)(int));

}  // namespace pxl
