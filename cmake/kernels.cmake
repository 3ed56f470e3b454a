# The kernels' number-crunching libraries: BLAS and LAPACK, which OpenBLAS has. Without them the kernels compute all products themselves
# (kernels/gemm/gemm.cpp), and definitions factor matrices.
if(NOT PXL_KERNELS_ONLY)
  find_package(LAPACK REQUIRED)
endif()
target_link_libraries(pxl_kernels PUBLIC Threads::Threads PRIVATE ${LAPACK_LIBRARIES})
if(NOT LAPACK_FOUND)
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

# The instruction sets for which kernels are compiled. `native`: the best of those that this processor has, as
# runtime/kernels/processor_sets.hpp knows them. Such a build refuses to run on a processor that lacks it.
set(PXL_INSTRUCTION_SETS all CACHE STRING "Kernels for `all` instruction sets, or those `native` to this processor")
set_property(CACHE PXL_INSTRUCTION_SETS PROPERTY STRINGS all native)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64" AND PXL_INSTRUCTION_SETS STREQUAL native)
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "PXL_INSTRUCTION_SETS is native, but the kernels are for another machine: set it to all")
  endif()
  try_run(best_set_status best_set_compiled SOURCES ${PROJECT_SOURCE_DIR}/cmake/best_set.cpp
          CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}
          COMPILE_OUTPUT_VARIABLE best_set_errors RUN_OUTPUT_VARIABLE best_set COPY_FILE ${PROJECT_BINARY_DIR}/best_set)
  if(NOT best_set_compiled OR NOT best_set_status EQUAL 0)
    message(FATAL_ERROR "cmake/best_set.cpp did not tell the best instruction set of this processor: set PXL_INSTRUCTION_SETS to "
                        "all\n${best_set_errors}")
  endif()
  message(STATUS "Kernels for ${best_set}")
elseif(NOT PXL_INSTRUCTION_SETS MATCHES "^(all|native)$")
  message(FATAL_ERROR "PXL_INSTRUCTION_SETS is ${PXL_INSTRUCTION_SETS}: expected all or native")
endif()
# Kernels that are compiled once for each instruction set and chosen at run time (runtime/kernels/kernel_variants.hpp): the
# file that they include, the macro that names their table, the name of the table, the instruction sets, ascending. A native build
# has the last set of a row that is not above the processor's.
set(PXL_VARIANTS
    "block/block|PXL_BLOCKS|blocks|baseline avx2 avx512"
    "block/block_integer|PXL_INTEGER_BLOCKS|integer_blocks|baseline avx2"
    "fourier/lines|PXL_FOURIER|fourier_functions|baseline avx2 avx512"
    "gemm/integer_product|PXL_INTEGER_PRODUCT|integer_product|baseline avx2 avx512"
    "gemm/packed|PXL_PACKED|packed|baseline avx2 avx512 neon"
    "gemm/quantised_product|PXL_QUANTISED_PRODUCT|quantised_product|baseline avx2"
    "gemm/skinny|PXL_SKINNY|skinny|baseline avx2 avx512 neon"
    "convolution/direct|PXL_DIRECT|direct|baseline avx2 avx512 neon"
    "image/window_sums|PXL_WINDOW_SUMS|window_functions|baseline avx2 avx512"
    "convolution/winograd|PXL_WINOGRAD|winograd|baseline avx2 avx512")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(built_sets baseline avx2 avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(built_sets baseline neon)
else()
  set(built_sets baseline)
endif()
set(options_avx2 -march=x86-64-v3)
set(options_avx512 -march=x86-64-v4)
set(options_neon -DPXL_FUSED)
set(chosen_sets ${built_sets})
if(best_set)
  list(FIND built_sets ${best_set} last)
  math(EXPR last "${last} + 1")
  list(SUBLIST built_sets 0 ${last} built_sets)
  set(chosen_sets ${best_set})
endif()

# The options of block functions allow vector code for square roots and selections, and change no result.
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

# Rounding to float8, one loop that is selections throughout.
set_source_files_properties(${PROJECT_SOURCE_DIR}/runtime/tensor/float8.cpp
                            PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${kernel_level};-fno-trapping-math")

# Loops over windows and indices, conversions, copies, selections, reductions of integers: plain code that the compiler turns into vector
# code at this level only, and short loops that it should not turn into calls of memcpy.
set(window_options -O3 -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND window_options -fno-tree-loop-distribute-patterns)
endif()
set(loop_files elementwise/broadcast_rows elementwise/convert elementwise/elementwise elementwise/linear_quantise elementwise/quantise convolution/convolution random/draws
        indexing/index indexing/scatter indexing/scatter_reduce linear_algebra/small_factors reduction/median reduction/order reduction/reduce image/pooling image/resample movement/strided)
list(TRANSFORM loop_files PREPEND ${kernels_dir}/)
list(TRANSFORM loop_files APPEND .cpp)
get_target_property(kernel_files pxl_kernels SOURCES)
list(REMOVE_ITEM kernel_files ${loop_files})
set_target_properties(pxl_kernels PROPERTIES SOURCES "${kernel_files}")
add_library(pxl_loops OBJECT ${loop_files})
target_link_libraries(pxl_loops PRIVATE pxl_flags fmt::fmt pxl_tensor)
target_compile_options(pxl_loops PRIVATE ${window_options})
if(PXL_UNITY AND NOT CCACHE)
  pxl_batches(pxl_loops 8)  # a third of their time is headers
endif()
target_sources(pxl_kernels PRIVATE $<TARGET_OBJECTS:pxl_loops>)

# GCC 12 takes the undefined upper lanes of its own AVX-512 intrinsics for a mistake of ours, hence the two warnings that are
# off in products.
set(product_options ${kernel_level} -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND product_options -Wno-uninitialized -Wno-maybe-uninitialized)
endif()
# Writes to OUT the macro NAME(ROW, ...), which makes a row of each of the sets.
function(rows_of_sets name sets out)
  set(text "#define ${name}(ROW, ...)")
  foreach(set ${sets})
    string(APPEND text " ROW(${set}, __VA_ARGS__)")
  endforeach()
  set(${out} "${${out}}${text}\n" PARENT_SCOPE)
endfunction()

set(PXL_SETS)
rows_of_sets(PXL_BUILT_SETS "${chosen_sets}" PXL_SETS)
string(REPLACE ";" "|" pattern "${built_sets}")
foreach(variant ${PXL_VARIANTS})
  string(REPLACE "|" ";" variant "${variant}")
  list(GET variant 0 PXL_KERNEL)
  list(GET variant 1 PXL_MACRO)
  list(GET variant 2 table)
  list(GET variant 3 sets)
  string(REPLACE " " ";" sets "${sets}")
  list(FILTER sets INCLUDE REGEX "^(${pattern})$")
  if(best_set)
    list(GET sets -1 sets)
  endif()
  rows_of_sets(PXL_SETS_OF_${table} "${sets}" PXL_SETS)
  if(PXL_KERNEL MATCHES "^(block/block|fourier/lines)$")
    set(options ${block_options})
  elseif(PXL_KERNEL STREQUAL block/block_integer)
    set(options ${window_options})
  else()
    set(options ${product_options})
  endif()
  get_filename_component(kernel_name ${PXL_KERNEL} NAME)
  foreach(PXL_SET ${sets})
    set(PXL_TABLE ${table}_${PXL_SET})
    set(made ${PROJECT_BINARY_DIR}/kernels/${kernel_name}_${PXL_SET}.cpp)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/kernel_variant.cpp.in ${made} @ONLY)
    if(PXL_SET STREQUAL baseline)
      set(of_set ${baseline_level})
    else()
      set(of_set ${options_${PXL_SET}})
    endif()
    set_source_files_properties(${made} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${options};${of_set}")
    target_sources(pxl_kernels PRIVATE ${made})
  endforeach()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/built_sets.hpp.in ${PROJECT_BINARY_DIR}/kernels/built_sets.hpp @ONLY)
target_include_directories(pxl_kernels PRIVATE ${PROJECT_BINARY_DIR}/kernels)
