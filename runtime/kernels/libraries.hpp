// Effects of libraries on the process that loads them: the threads that they start, and the memory that they take.
#pragma once

namespace pxl {

/// Makes BLAS compute on the calling thread, for the whole process. The pool parallelises products itself.
void use_one_blas_thread();

/// Whether the limit on address space (`ulimit -v`) leaves the memory that BLAS needs on all threads. Without that
/// memory OpenBLAS retries forever. The first answer stays, so that a process computes all its products alike.
bool is_blas_usable();

/// Prepares a process that pxl owns, before its first product. A process of another program keeps its settings.
/// - Calls use_one_blas_thread.
/// - Lets the C library keep up to 64 MiB of freed memory. oneDNN allocates and frees its memory in every product.
///   The C library's own limit is 128 KiB: the system then takes that memory back and clears it each time. A batch of
///   16 products of 33 x 65 by 65 x 17 took 45 us, and now takes 18.
void prepare_libraries();

}  // namespace pxl
