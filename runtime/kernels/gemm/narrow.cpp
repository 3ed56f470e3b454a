#include "runtime/kernels/gemm/narrow.hpp"

#include "runtime/kernels/kernel.hpp"

namespace pxl {

Kernel& Kernel::set_narrow_source(const NarrowSource& source) {
  narrow_source_ = std::make_shared<const NarrowSource>(source);
  return *this;
}

}  // namespace pxl
