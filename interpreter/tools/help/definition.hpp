// The definition of an op as source text, from the files of runtime/reference, which the binary embeds.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/op/op.hpp"

namespace pxl {

struct DefinitionSource {
  std::string_view name;
  std::string_view text;
};
/// The files of runtime/reference.
std::span<const DefinitionSource> definition_sources();

struct DefinitionName {
  std::string_view name;
  DefinitionFn definition;
};
/// The functions that runtime/op/definitions.hpp declares.
std::span<const DefinitionName> definition_names();

/// The function that a row's column `definition` names, with the comment before it. The text ends with a newline. It is
/// empty for rows without a definition: control ops and composites.
std::string definition_text(const OpRow& row);

}  // namespace pxl
