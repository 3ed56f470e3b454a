// Kernels that are compiled once for each instruction set that is built: a family has a function FAMILY_SET() for each,
// which gives its table, and a table of these functions.
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

/// The place of a set among those of the architecture.
size_t set_number(std::string_view set);

/// The last of the variants whose set is not above `set`: a family need not differ in each.
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

// ROW(SET, ...) for the sets that are built, ascending: those that differ in their vectors, and those that differ in
// fused multiply-adds too. On arm64 the baseline is NEON already.
#define PXL_VECTOR_SETS(ROW, ...) \
  ROW(baseline, __VA_ARGS__) PXL_IF_AVX2(ROW(avx2, __VA_ARGS__)) PXL_IF_AVX512(ROW(avx512, __VA_ARGS__))
#define PXL_PRODUCT_SETS(ROW, ...) PXL_VECTOR_SETS(ROW, __VA_ARGS__) PXL_IF_NEON(ROW(neon, __VA_ARGS__))
// Integers have no code of their own for AVX-512.
#if defined(__x86_64__) && !(defined(PXL_WITHOUT_AVX2) && defined(PXL_WITHOUT_AVX512))
#define PXL_INTEGER_SETS(ROW, ...) ROW(baseline, __VA_ARGS__) ROW(avx2, __VA_ARGS__)
#else
#define PXL_INTEGER_SETS(ROW, ...) ROW(baseline, __VA_ARGS__)
#endif

#define PXL_VARIANT_DECLARED(set, Table, family) const Table& family##_##set();
#define PXL_VARIANT_ROW(set, Table, family) {#set, family##_##set},
// Defines FAMILY_variants(): those of the family, of which the macro SETS names the instruction sets.
#define PXL_VARIANTS(SETS, Table, family)                                                  \
  SETS(PXL_VARIANT_DECLARED, Table, family)                                                \
  std::span<const KernelVariant<Table>> family##_variants() {                              \
    static constexpr KernelVariant<Table> rows[] = {SETS(PXL_VARIANT_ROW, Table, family)}; \
    return rows;                                                                           \
  }
