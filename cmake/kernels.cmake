# The kernels' number-crunching libraries. Without BLAS the kernels compute all products themselves (kernels/gemm.cpp).
if(NOT PXL_KERNELS_ONLY)
  find_package(BLAS REQUIRED)
endif()
target_link_libraries(pxl_kernels PUBLIC Threads::Threads PRIVATE ${BLAS_LIBRARIES})
if(NOT BLAS_FOUND)
  target_compile_definitions(pxl_kernels PRIVATE PXL_WITHOUT_BLAS)
endif()

# Large float32 products on x86-64; without it BLAS does them.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  find_path(ONEDNN_INCLUDE oneapi/dnnl/dnnl.h)
  find_library(ONEDNN_LIBRARY dnnl)
endif()
if(ONEDNN_INCLUDE AND ONEDNN_LIBRARY)
  target_compile_definitions(pxl_kernels PRIVATE PXL_ONEDNN)
  target_include_directories(pxl_kernels SYSTEM PRIVATE ${ONEDNN_INCLUDE})
  target_link_libraries(pxl_kernels PRIVATE ${ONEDNN_LIBRARY})
endif()

# The instruction sets for which kernels are compiled. `native`: the baseline, and the best of those that this processor has, as
# runtime/kernels/processor_sets.hpp knows them.
set(PXL_INSTRUCTION_SETS all CACHE STRING "Kernels for `all` instruction sets, or the baseline and those `native` to this processor")
set_property(CACHE PXL_INSTRUCTION_SETS PROPERTY STRINGS all native)
set(left_out_sets)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64" AND PXL_INSTRUCTION_SETS STREQUAL native)
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "PXL_INSTRUCTION_SETS is native, but the kernels are for another machine: set it to all")
  endif()
  try_run(best_set_status best_set_compiled SOURCES ${PROJECT_SOURCE_DIR}/cmake/best_set.cpp
          CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}
          COMPILE_OUTPUT_VARIABLE best_set_errors RUN_OUTPUT_VARIABLE best_set)
  if(NOT best_set_compiled OR NOT best_set_status EQUAL 0)
    message(FATAL_ERROR "cmake/best_set.cpp did not tell the best instruction set of this processor: set PXL_INSTRUCTION_SETS to "
                        "all\n${best_set_errors}")
  endif()
  set(left_out_sets avx2 avx512)
  list(REMOVE_ITEM left_out_sets ${best_set})
  message(STATUS "Kernels for the baseline and ${best_set}")
elseif(NOT PXL_INSTRUCTION_SETS MATCHES "^(all|native)$")
  message(FATAL_ERROR "PXL_INSTRUCTION_SETS is ${PXL_INSTRUCTION_SETS}: expected all or native")
endif()
get_target_property(kernel_sources pxl_kernels SOURCES)
foreach(set ${left_out_sets})
  string(TOUPPER ${set} upper)
  target_compile_definitions(pxl_kernels PRIVATE PXL_WITHOUT_${upper})
  list(FILTER kernel_sources EXCLUDE REGEX "/(block|direct|packed|skinny|winograd)_${set}\\.cpp$")
endforeach()
set_target_properties(pxl_kernels PROPERTIES SOURCES "${kernel_sources}")

# The block functions are compiled once per instruction set and chosen at run time (runtime/kernels/block.cpp). The
# options allow vector code for square roots and selections and change no result.
if(PXL_SANITIZE)
  set(kernel_level -O1)  # minutes a file with more
else()
  set(kernel_level -O3)
endif()
set(block_options ${kernel_level} -fno-math-errno -fno-trapping-math -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND block_options -Wno-pass-failed)  # a loop that it cannot vectorise is slower there, not wrong
else()
  list(APPEND block_options -fno-thread-jumps)  # it takes selections apart into several masks
endif()
# On x86-64 the baseline is for processors without AVX2: less vector code there, for less than half of the time.
set(baseline_level)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64" AND NOT PXL_SANITIZE)
  set(baseline_level -O2)
endif()
set(kernels_dir ${PROJECT_SOURCE_DIR}/runtime/kernels)
set_source_files_properties(${kernels_dir}/block_baseline.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${block_options};${baseline_level}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set_source_files_properties(${kernels_dir}/block_avx2.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${block_options};-march=x86-64-v3")
  set_source_files_properties(${kernels_dir}/block_avx512.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${block_options};-march=x86-64-v4")
endif()

# Rounding to float8, one loop that is selections throughout.
set_source_files_properties(${PROJECT_SOURCE_DIR}/runtime/tensor/float8.cpp
                            PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${kernel_level};-fno-trapping-math")

# Loops over windows and indices, conversions, copies, selections, reductions of integers: plain code that the compiler turns into vector
# code at this level only, and short loops that it should not turn into calls of memcpy.
set(window_options -O3 -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND window_options -fno-tree-loop-distribute-patterns)
endif()
foreach(file broadcast_rows convert convolution draws elementwise index median order pooling quantise reduce resample scatter scatter_reduce strided)
  set_source_files_properties(${kernels_dir}/${file}.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${window_options}")
endforeach()

# The same for integers, also with the products, minima and maxima of AVX2.
set_source_files_properties(${kernels_dir}/block_integer_baseline.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${window_options};${baseline_level}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set_source_files_properties(${kernels_dir}/block_integer_avx2.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${window_options};-march=x86-64-v3")
endif()

# The same for the products. GCC 12 takes the undefined upper lanes of its own AVX-512 intrinsics for a mistake of ours,
# hence the two warnings that are off.
set(product_options ${kernel_level} -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND product_options -Wno-uninitialized -Wno-maybe-uninitialized)
endif()
set_source_files_properties(${kernels_dir}/quantised_product_baseline.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${product_options};${baseline_level}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set_source_files_properties(${kernels_dir}/quantised_product_avx2.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${product_options};-march=x86-64-v3")
endif()
foreach(products direct packed skinny winograd)
  set_source_files_properties(${kernels_dir}/${products}_baseline.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${product_options};${baseline_level}")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
    set_source_files_properties(${kernels_dir}/${products}_avx2.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${product_options};-march=x86-64-v3")
    set_source_files_properties(${kernels_dir}/${products}_avx512.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${product_options};-march=x86-64-v4")
    set_source_files_properties(${kernels_dir}/${products}_neon.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set_source_files_properties(${kernels_dir}/${products}_neon.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${product_options}")
  endif()
endforeach()
