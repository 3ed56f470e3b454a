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

#define PXL_VARIANT_DECLARED(set, Table, family) const Table& family##_##set();
#define PXL_VARIANT_ROW(set, Table, family) {#set, family##_##set},
// Defines FAMILY_variants(): the variants that this build has. The file includes built_sets.hpp, which
// cmake/kernels.cmake writes.
#define PXL_VARIANTS(Table, family)                                                                        \
  PXL_SETS_OF_##family(PXL_VARIANT_DECLARED, Table, family) std::span<const KernelVariant<Table>>          \
      family##_variants() {                                                                                \
    static constexpr KernelVariant<Table> rows[] = {PXL_SETS_OF_##family(PXL_VARIANT_ROW, Table, family)}; \
    return rows;                                                                                           \
  }
