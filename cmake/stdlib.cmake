# The standard library is written in pxl and embedded as string literals.
file(GLOB stdlib_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/stdlib/*.pxl)
set(stdlib_cpp ${PROJECT_BINARY_DIR}/stdlib.cpp)
add_custom_command(
  OUTPUT ${stdlib_cpp}
  COMMAND ${CMAKE_COMMAND} -DOUT=${stdlib_cpp} "-DFILES=${stdlib_files}" -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${stdlib_files} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  COMMENT "Embedding the standard library" VERBATIM)
target_sources(pxl_elaborate PRIVATE ${stdlib_cpp})
