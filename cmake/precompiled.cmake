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

# Sets `out` to the target whose headers a layer of a level of optimisation takes: GCC refuses those of another level.
function(pxl_precompiled level out)
  if(NOT level OR PXL_OPTIMISE STREQUAL "-${level}")
    set(level usual)
  endif()
  set(name pxl_precompiled_${level})
  set(${out} ${name} PARENT_SCOPE)
  if(TARGET ${name})
    return()
  endif()
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_link_libraries(${name} PRIVATE pxl_flags fmt::fmt)
  if(NOT level STREQUAL usual)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-${level}>)
  endif()
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory> <numeric> <optional> <set> <span> <string>
    <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)
endfunction()
