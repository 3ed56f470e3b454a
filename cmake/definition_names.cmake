# Writes OUT: the table of the functions that HEADER declares, by name.
file(STRINGS ${HEADER} declarations REGEX "^void [a-z0-9_]+\\(ReferenceContext&\\);")
set(body "// Generated.\n#include \"runtime/op/definitions.hpp\"\n\n#include \"interpreter/tools/definition.hpp\"\nnamespace pxl {\nstd::span<const DefinitionName> definition_names() {\n  static constexpr DefinitionName names[] = {\n")
foreach(declaration ${declarations})
  string(REGEX REPLACE "^void ([a-z0-9_]+).*" "\\1" name "${declaration}")
  string(APPEND body "      {\"${name}\", reference::${name}},\n")
endforeach()
string(APPEND body "  };\n  return names;\n}\n}  // namespace pxl\n")
file(WRITE ${OUT} "${body}")
