// Threads that libraries start of themselves.
#pragma once

namespace pxl {

/// Has BLAS compute on the calling thread, for the whole process: the pool divides products among threads.
void use_one_blas_thread();

/// The same, and ends the threads that OpenBLAS for POSIX threads starts, one for each further core, as soon as it is
/// loaded: idle, they poll for 2^28 cycles, an eighth of a second of every core. For a process of our own, before its
/// first product; another's may be using them.
void end_idle_library_threads();

}  // namespace pxl
