# Files that are embedded in the binary as string literals: the standard library, which is written in pxl, the page
# of the IPU model and its machines, that of graphs, the kinds of errors, and the definitions of ops.
function(pxl_embed target out)
  cmake_parse_arguments(E "" "HEADER;NAMESPACE;TYPE;FUNCTION;STEM;MODULES" "FILES" ${ARGN})
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DHEADER=${E_HEADER} -DNAMESPACE=${E_NAMESPACE} -DTYPE=${E_TYPE}
            -DFUNCTION=${E_FUNCTION} -DSTEM=${E_STEM} -DMODULES=${E_MODULES} "-DFILES=${E_FILES}" -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${E_FILES} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding ${out}" VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()

file(GLOB_RECURSE stdlib_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/stdlib/*.pxl)
pxl_embed(pxl_elaborate ${PROJECT_BINARY_DIR}/stdlib.cpp FILES ${stdlib_files} MODULES ${PROJECT_SOURCE_DIR}/stdlib
  HEADER interpreter/language/stdlib.hpp NAMESPACE pxl TYPE StdlibFile FUNCTION stdlib_files)
file(GLOB page_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/tiles/page/*)
pxl_embed(pxl_tiles ${PROJECT_BINARY_DIR}/tiles_page.cpp FILES ${page_files} STEM OFF
  HEADER runtime/tiles/report/report_json.hpp NAMESPACE pxl::tiles TYPE PageFile FUNCTION page_files)
file(GLOB machine_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/tiles/machines/*.machine)
pxl_embed(pxl_tiles ${PROJECT_BINARY_DIR}/machine_files.cpp FILES ${machine_files} STEM ON
  HEADER runtime/tiles/machine/machine_file.hpp NAMESPACE pxl::tiles TYPE MachineFile FUNCTION machine_files)
pxl_embed(pxl_tools ${PROJECT_BINARY_DIR}/error_pages.cpp FILES ${PROJECT_SOURCE_DIR}/docs/errors.md STEM ON
  HEADER interpreter/tools/help/explain.hpp NAMESPACE pxl TYPE ErrorPages FUNCTION error_pages)

# The page of `pxl graph`, with the layout library of Debian's package and its licence.
find_file(PXL_DAGRE dagre.min.js PATHS /usr/lib/python3/dist-packages/xstatic/pkg/dagre/data NO_DEFAULT_PATH)
find_file(PXL_DAGRE_COPYRIGHT copyright PATHS /usr/share/doc/python3-xstatic-dagre NO_DEFAULT_PATH)
if(NOT PXL_DAGRE OR NOT PXL_DAGRE_COPYRIGHT)
  message(FATAL_ERROR "dagre.min.js or its licence was not found: install the package python3-xstatic-dagre")
endif()
configure_file(${PXL_DAGRE} ${PROJECT_BINARY_DIR}/graph_page/dagre.js COPYONLY)
configure_file(${PXL_DAGRE_COPYRIGHT} ${PROJECT_BINARY_DIR}/graph_page/dagre-copyright.txt COPYONLY)
file(GLOB graph_page_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/interpreter/tools/graph_page/*)
pxl_embed(pxl_tools ${PROJECT_BINARY_DIR}/graph_page_files.cpp STEM OFF
  FILES ${graph_page_files} ${PROJECT_BINARY_DIR}/graph_page/dagre.js ${PROJECT_BINARY_DIR}/graph_page/dagre-copyright.txt
  HEADER interpreter/tools/graph_page.hpp NAMESPACE pxl TYPE GraphPageFile FUNCTION graph_page_files)

# Definitions of ops as help shows them: their sources, and their names.
file(GLOB definition_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/reference/*.cpp)
pxl_embed(pxl_tools ${PROJECT_BINARY_DIR}/definition_sources.cpp FILES ${definition_files} STEM ON
  HEADER interpreter/tools/help/definition.hpp NAMESPACE pxl TYPE DefinitionSource FUNCTION definition_sources)
file(GLOB definitions CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/runtime/op/*definitions.hpp)
string(REPLACE ";" "," definition_headers "${definitions}")
list(TRANSFORM definitions PREPEND ${PROJECT_SOURCE_DIR}/)
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/definition_names.cpp
  COMMAND ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/definition_names.cpp -DROOT=${PROJECT_SOURCE_DIR} -DHEADERS=${definition_headers}
          -P ${PROJECT_SOURCE_DIR}/cmake/definition_names.cmake
  DEPENDS ${definitions} ${PROJECT_SOURCE_DIR}/cmake/definition_names.cmake
  COMMENT "Naming the definitions" VERBATIM)
target_sources(pxl_tools PRIVATE ${PROJECT_BINARY_DIR}/definition_names.cpp)
