# Writes OUT: a table of (module name, text) of FILES, declared in interpreter/elaborate/stdlib.hpp.
set(body "// Generated from stdlib/*.pxl.\n#include \"interpreter/elaborate/stdlib.hpp\"\nnamespace pxl {\nstd::span<const StdlibFile> stdlib_files() {\n  static constexpr StdlibFile files[] = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND body "    {\"${name}\", R\"~pxl~(${text})~pxl~\"},\n")
endforeach()
string(APPEND body "  };\n  return files;\n}\n}  // namespace pxl\n")
file(WRITE ${OUT} "${body}")
