# Writes OUT: FUNCTION, which gives a table of (file name, text) of FILES; TYPE and FUNCTION are declared in HEADER. With
# STEM the names are without suffixes.
set(body "// Generated.\n#include \"${HEADER}\"\nnamespace ${NAMESPACE} {\nstd::span<const ${TYPE}> ${FUNCTION}() {\n  static constexpr ${TYPE} files[] = {\n")
foreach(file ${FILES})
  if(STEM)
    get_filename_component(name ${file} NAME_WE)
  else()
    get_filename_component(name ${file} NAME)
  endif()
  file(READ ${file} text)
  string(APPEND body "    {\"${name}\", R\"~pxl~(${text})~pxl~\"},\n")
endforeach()
string(APPEND body "  };\n  return files;\n}\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUT} "${body}")
