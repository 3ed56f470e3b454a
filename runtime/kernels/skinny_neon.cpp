// Skinny GEMM for arm64 with fused multiply-adds (NEON has them everywhere); compiled with separate flags, see
// cmake/kernels.cmake.
#if defined(__aarch64__)
#define PXL_FUSED
#define PXL_SKINNY skinny_neon
#include "runtime/kernels/skinny.inc"
#endif
