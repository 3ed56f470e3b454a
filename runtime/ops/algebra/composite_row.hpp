// The row of an op that expands into other ops.
#pragma once

#include "runtime/op/op.hpp"

namespace pxl {

constexpr OpRow composite_row(std::string_view name, std::string_view path, std::string_view doc,
                              std::string_view formula, std::string_view example, std::span<const Param> params,
                              ExpandFn expand) {
  OpRow row{};
  row.name = name;
  row.path = path;
  row.doc = doc;
  row.formula = formula;
  row.example = example;
  row.params = params;
  row.expand = expand;
  row.role = Role::composite;
  return row;
}

}  // namespace pxl
