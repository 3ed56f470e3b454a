# Definitions in xtensor. Rows of runtime/ops name them and they use what rows are made of: the two libraries need each
# other, which CMake allows of static ones.
find_package(xtensor REQUIRED)
find_path(XTENSOR_BLAS_INCLUDE xtensor-blas/xlinalg.hpp REQUIRED)
find_package(BLAS REQUIRED)
pxl_layer(pxl_reference FOLDERS runtime/reference LINKS pxl_kernels PRECOMPILE runtime/reference/xtensor.hpp)
# xtensor's templates take most of the time: smaller batches, so that touching a definition recompiles few others.
if(PXL_UNITY AND CCACHE AND PXL_UNITY_BATCH GREATER 0)
  math(EXPR most "${PXL_UNITY_BATCH} / 3 + 1")
  pxl_batches(pxl_reference ${most})
endif()
target_include_directories(pxl_reference SYSTEM PRIVATE ${xtensor_INCLUDE_DIRS} ${XTENSOR_BLAS_INCLUDE})
target_link_libraries(pxl_reference PUBLIC pxl_ops PRIVATE ${BLAS_LIBRARIES})
target_link_libraries(pxl_ops PUBLIC pxl_reference)
target_link_libraries(pxl_op PUBLIC pxl_reference)
# -fwrapv: integers wrap, as tensors of them do. Definitions are for reading; more optimisation costs minutes.
target_compile_options(pxl_reference PRIVATE -fwrapv -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(pxl_reference PRIVATE -fno-new-ttp-matching)
endif()
