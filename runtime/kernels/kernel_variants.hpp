// Kernels that are compiled once for each built instruction set. A family has a function FAMILY_SET() per set, which
// returns its table, and a table of these functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace pxl {

template <class Table>
struct KernelVariant {
  std::string_view set;
  const Table& (*table)();
};

/// The position of a set among the architecture's sets.
size_t set_number(std::string_view set);

/// The last variant whose set is not above `set`: a family need not have a variant for each set.
template <class Table>
const Table& variant_for(std::string_view set, std::span<const KernelVariant<Table>> variants) {
  const Table& (*chosen)() = variants[0].table;
  for (const KernelVariant<Table>& v : variants)
    if (set_number(v.set) <= set_number(set)) chosen = v.table;
  return chosen();
}

}  // namespace pxl

#if defined(__x86_64__) && !defined(PXL_WITHOUT_AVX2)
#define PXL_IF_AVX2(row) row
#else
#define PXL_IF_AVX2(row)
#endif
#if defined(__x86_64__) && !defined(PXL_WITHOUT_AVX512)
#define PXL_IF_AVX512(row) row
#else
#define PXL_IF_AVX512(row)
#endif
#if defined(__aarch64__)
#define PXL_IF_NEON(row) row
#else
#define PXL_IF_NEON(row)
#endif

// ROW(SET, ...) for the built sets, ascending. PXL_VECTOR_SETS: sets with different vectors. PXL_PRODUCT_SETS: also
// sets that differ in fused multiply-adds. The baseline is NEON already on arm64.
#define PXL_VECTOR_SETS(ROW, ...) \
  ROW(baseline, __VA_ARGS__) PXL_IF_AVX2(ROW(avx2, __VA_ARGS__)) PXL_IF_AVX512(ROW(avx512, __VA_ARGS__))
#define PXL_PRODUCT_SETS(ROW, ...) PXL_VECTOR_SETS(ROW, __VA_ARGS__) PXL_IF_NEON(ROW(neon, __VA_ARGS__))
// Integers have no AVX-512 code.
#if defined(__x86_64__) && !(defined(PXL_WITHOUT_AVX2) && defined(PXL_WITHOUT_AVX512))
#define PXL_INTEGER_SETS(ROW, ...) ROW(baseline, __VA_ARGS__) ROW(avx2, __VA_ARGS__)
#else
#define PXL_INTEGER_SETS(ROW, ...) ROW(baseline, __VA_ARGS__)
#endif

#define PXL_VARIANT_DECLARED(set, Table, family) const Table& family##_##set();
#define PXL_VARIANT_ROW(set, Table, family) {#set, family##_##set},
// Defines FAMILY_variants(): the family's variants for the instruction sets that the macro SETS names.
#define PXL_VARIANTS(SETS, Table, family)                                                  \
  SETS(PXL_VARIANT_DECLARED, Table, family)                                                \
  std::span<const KernelVariant<Table>> family##_variants() {                              \
    static constexpr KernelVariant<Table> rows[] = {SETS(PXL_VARIANT_ROW, Table, family)}; \
    return rows;                                                                           \
  }
