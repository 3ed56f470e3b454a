# The headers of the standard library and of fmt that most files include, parsed once: a tenth of a clean build's time. Files
# still include what they use: a build without PXL_UNITY goes without these, too. With ccache they are off, since it then
# takes the same file in two checkouts for two files.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND PXL_UNITY AND NOT PXL_SANITIZE AND NOT CCACHE)
  set(precompile ON)
endif()
option(PXL_PRECOMPILE "Precompile the headers of the standard library" ${precompile})
if(NOT PXL_PRECOMPILE)
  return()
endif()

# One for each level of optimisation: GCC refuses a precompiled header of another.
function(pxl_precompiled name)
  add_library(${name} OBJECT cmake/precompiled.cpp)
  target_link_libraries(${name} PRIVATE pxl_flags fmt::fmt)
  target_compile_options(${name} PRIVATE ${ARGN})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory> <numeric> <optional> <set> <span> <string>
    <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)
endfunction()
pxl_precompiled(pxl_precompiled)
pxl_precompiled(pxl_precompiled_O1 $<$<CONFIG:Release>:-O1>)
pxl_precompiled(pxl_precompiled_Og $<$<CONFIG:Release>:-Og>)
