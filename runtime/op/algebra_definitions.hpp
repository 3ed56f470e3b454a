// Definitions of matrices, Fourier transforms, and functions that run by their definitions (definitions.hpp).
#pragma once

#include "runtime/op/op.hpp"

namespace pxl::reference {

// linear_algebra.cpp
void slogdet(ReferenceContext&);
void cholesky(ReferenceContext&);
void triangular_solve(ReferenceContext&);
void solve(ReferenceContext&);
void qr(ReferenceContext&);
void svd(ReferenceContext&);
void eigh(ReferenceContext&);

// fourier.cpp
void fourier(ReferenceContext&);

// activation.cpp
void erfinv(ReferenceContext&);

// arithmetic.cpp
void atan2(ReferenceContext&);

// reduce.cpp
void variance(ReferenceContext&);
void deviation(ReferenceContext&);

// random.cpp
void checked_weights(ReferenceContext&);

}  // namespace pxl::reference
