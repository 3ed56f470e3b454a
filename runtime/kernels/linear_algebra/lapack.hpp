// The functions of LAPACK and BLAS that the kernels call, by their Fortran names, for float and double. Matrices are
// column-major: a row-major matrix is its transpose there. Letters have their lengths at the end of the arguments.
#pragma once

#include <cstddef>

// clang-format off
#define PXL_LAPACK(T, P)                                                                                                \
  extern "C" {                                                                                                          \
  void P##potrf_(const char*, const int*, T*, const int*, int*, size_t);                                                \
  void P##trsm_(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*,         \
                const int*, T*, const int*, size_t, size_t, size_t, size_t);                                            \
  void P##getrf_(const int*, const int*, T*, const int*, int*, int*);                                                   \
  void P##getrs_(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, int*, size_t);  \
  void P##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                                     \
  void P##orgqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);                   \
  void P##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*,           \
                 const int*, int*, int*, size_t);                                                                       \
  void P##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, int*,      \
                 size_t, size_t);                                                                                       \
  }                                                                                                                     \
  namespace pxl::lapack {                                                                                               \
  /* The triangle `part` ('U', 'L') of a becomes its Cholesky factor. Returns the order of the first block that has     \
     none, or 0. */                                                                                                     \
  inline int potrf(char part, int n, T* a) {                                                                            \
    int info = 0;                                                                                                       \
    P##potrf_(&part, &n, a, &n, &info, 1);                                                                              \
    return info;                                                                                                        \
  }                                                                                                                     \
  /* x a = b, or x a^T = b for `form` 'T': b [m, n] becomes x. */                                                       \
  inline void trsm(char part, char form, int m, int n, const T* a, T* b) {                                              \
    const char right = 'R', any = 'N';                                                                                  \
    const T one = 1;                                                                                                    \
    P##trsm_(&right, &part, &form, &any, &m, &n, &one, a, &n, b, &m, 1, 1, 1, 1);                                       \
  }                                                                                                                     \
  /* a becomes its LU factors. Returns the number of the first column without a pivot, from 1, or 0. */                 \
  inline int getrf(int n, T* a, int* pivots) {                                                                          \
    int info = 0;                                                                                                       \
    P##getrf_(&n, &n, a, &n, pivots, &info);                                                                            \
    return info;                                                                                                        \
  }                                                                                                                     \
  /* b [n, columns] becomes x with a^T x = b. */                                                                        \
  inline void getrs_transposed(int n, int columns, const T* a, const int* pivots, T* b) {                               \
    const char form = 'T';                                                                                              \
    int info = 0;                                                                                                       \
    P##getrs_(&form, &n, &columns, a, &n, pivots, b, &n, &info, 1);                                                     \
  }                                                                                                                     \
  inline void geqrf(int m, int n, T* a, T* tau, T* work, int size) {                                                    \
    int info = 0;                                                                                                       \
    P##geqrf_(&m, &n, a, &m, tau, work, &size, &info);                                                                  \
  }                                                                                                                     \
  inline void orgqr(int m, int k, T* a, const T* tau, T* work, int size) {                                              \
    int info = 0;                                                                                                       \
    P##orgqr_(&m, &k, &k, a, &m, tau, work, &size, &info);                                                              \
  }                                                                                                                     \
  /* u [m, k], s [k], vt [k, n]; a is lost. Returns 0, or another number if the iteration does not converge. */         \
  inline int gesdd(int m, int n, T* a, T* s, T* u, T* vt, T* work, int size, int* whole) {                              \
    const char job = 'S';                                                                                               \
    const int k = m < n ? m : n;                                                                                        \
    int info = 0;                                                                                                       \
    P##gesdd_(&job, &m, &n, a, &m, s, u, &m, vt, &k, work, &size, whole, &info, 1);                                     \
    return info;                                                                                                        \
  }                                                                                                                     \
  /* The columns of a become eigenvectors. Returns as gesdd. */                                                         \
  inline int syevd(int n, T* a, T* w, T* work, int size, int* whole, int whole_size) {                                  \
    const char job = 'V', part = 'L';                                                                                   \
    int info = 0;                                                                                                       \
    P##syevd_(&job, &part, &n, a, &n, w, work, &size, whole, &whole_size, &info, 1, 1);                                 \
    return info;                                                                                                        \
  }                                                                                                                     \
  }
PXL_LAPACK(float, s)
PXL_LAPACK(double, d)
#undef PXL_LAPACK
// clang-format on
