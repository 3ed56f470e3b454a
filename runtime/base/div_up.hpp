// Quotients rounded up.
#pragma once

#include <cstdint>

namespace pxl {

/// a / b rounded up, for a >= 0 and b > 0.
constexpr int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace pxl
