// What libraries do to the process that loads them: threads that they start, memory that they take.
#pragma once

namespace pxl {

/// Has BLAS compute on the calling thread, for the whole process: the pool divides products among threads.
void use_one_blas_thread();

/// Whether the limit on address space (`ulimit -v`) leaves what BLAS needs on all threads: without it OpenBLAS tries
/// for ever. The answer of the first call stays, so that all products of a process are computed alike.
bool is_blas_usable();

/// For a process of our own, before its first product; another's settings are its own:
/// - as use_one_blas_thread;
/// - the C library keeps memory that is freed, up to 64 MiB. oneDNN allocates and frees its memory in every product,
///   and with the C library's own limit of 128 KiB the system takes it back and clears it each time: a batch of 16
///   products of 33 x 65 by 65 x 17 took 45 us, now 18.
void prepare_libraries();

}  // namespace pxl
