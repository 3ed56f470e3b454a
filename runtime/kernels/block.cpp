// Selects the variant of the block functions once, by CPUID.
#include "runtime/kernels/block.hpp"

#include <cstdlib>

#include "runtime/kernels/block_integer.hpp"
#include "runtime/kernels/block_table.hpp"
#include "runtime/kernels/instruction_sets.hpp"

namespace pxl {
namespace {

struct Variant {
  const BlockTable* table;
  std::string_view name;
};

Variant choose() {
#if defined(__x86_64__)
  const std::string_view set = supported_instruction_set();
  if (set == "avx512") return {&blocks_avx512(), set};
  if (set == "avx2") return {&blocks_avx2(), set};
#endif
  // On arm64 the baseline is NEON already: the products of "neon" differ, which have fused multiply-adds.
  return {&blocks_baseline(), supported_instruction_set()};
}

const Variant& variant() {
  static const Variant chosen = choose();
  return chosen;
}

/// Column of the tables, or -1.
int column(DType dtype) {
  switch (dtype) {
    case DType::float32: return 0;
    case DType::float64: return 1;
    case DType::float16: return 2;
    default: return -1;
  }
}

}  // namespace

UnaryBlock unary_block(Unary op, DType dtype) {
  const int c = column(dtype);
  return c < 0 ? integer_blocks().unary(op, dtype) : variant().table->unary[static_cast<int>(op)][c];
}
BinaryBlock binary_block(Binary op, DType dtype) {
  const int c = column(dtype);
  return c < 0 ? integer_blocks().binary(op, dtype) : variant().table->binary[static_cast<int>(op)][c];
}
ValueAndDerivativeFn value_and_derivative_block(Unary op) { return variant().table->derivatives[static_cast<int>(op)]; }
const IntegerBlocks& integer_blocks() {
#if defined(__x86_64__)
  if (variant().table != &blocks_baseline()) return integer_blocks_avx2();
#endif
  return integer_blocks_baseline();
}
const BulkFunctions& bulk() { return variant().table->bulk; }

std::string_view supported_instruction_set() {
  const char* asked = std::getenv("PXL_ISA");
  const std::string_view limit = asked ? asked : "";
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");  // all of these processors have F16C too
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512 && limit != "avx2" && limit != "baseline") return "avx512";
  if (avx2 && limit != "baseline") return "avx2";
#elif defined(__aarch64__)
  if (limit != "baseline") return "neon";
#endif
  return "baseline";
}

std::string_view instruction_set() { return variant().name; }

}  // namespace pxl
