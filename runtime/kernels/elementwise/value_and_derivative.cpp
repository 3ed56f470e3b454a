#include "runtime/kernels/elementwise/value_and_derivative.hpp"

#include <algorithm>

#include "runtime/kernels/block/block.hpp"

namespace pxl {
namespace {

struct DerivativeRow {
  Unary function;
  Binary gradient;
};
constexpr DerivativeRow derivative_rows[] = {
#define PXL_DERIVATIVE(NAME, FUNCTION, ...) {Unary::FUNCTION, Binary::NAME},
#include "runtime/kernels/elementwise/elementwise_table.inc"
};

constexpr double derivative_cost_ns = 0.9;  // per element; tanh or gelu alone take 0.5 (`bench_runtime`)

}  // namespace

std::optional<Unary> derivative_of(Binary gradient) {
  for (const DerivativeRow& row : derivative_rows)
    if (row.gradient == gradient) return row.function;
  return std::nullopt;
}

std::optional<Unary> function_of_gradient(std::string_view gradient) {
  for (const DerivativeRow& row : derivative_rows)
    if (name(row.gradient) == gradient) return row.function;
  return std::nullopt;
}

bool has_derivative(Unary function) {
  return std::any_of(std::begin(derivative_rows), std::end(derivative_rows),
                     [&](const DerivativeRow& row) { return row.function == function; });
}

Kernel value_and_derivative_kernel(Unary function, int64_t n) {
  const ValueAndDerivativeFn block = value_and_derivative_block(function);
  return Kernel::elementwise(
      n, derivative_cost_ns * static_cast<double>(n), [block](const Buffers& b, int64_t begin, int64_t end) {
        if (begin < end)
          block(b.input<float>(0) + begin, b.output<float>(0) + begin, b.output<float>(1) + begin, end - begin);
      });
}

}  // namespace pxl
