// Printing: the op's result is its operand.
#include "runtime/kernels/outside/print.hpp"

#include "runtime/op/definitions.hpp"
#include "runtime/ops/print_format.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

void print(ReferenceContext& c) {
  print_kernel(c.site().input(0), print_format(c.site()), c.boolean("print_self"))(c.buffers());
}

}  // namespace pxl::reference
