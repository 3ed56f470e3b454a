// Handlers of signals that leave the stack of the interrupted code alone.
#pragma once

namespace pxl {

/// Calls `handler` on an alternate stack on Ctrl-C; system calls are restarted. The alternate stack is necessary
/// because JIT-compiled GEMM code of libraries may keep live data below the stack pointer.
void handle_interrupts(void (*handler)(int));

}  // namespace pxl
