# The plug-in for MPI, a module beside the command, which opens it only where a launcher has started it
# (runtime/processes/launch.cpp): a plain start loads no library of MPI.
set(PXL_MPI AUTO CACHE STRING "Build the plug-in for MPI: ON, OFF, or AUTO where MPI is found")
if(PXL_MPI STREQUAL ON)
  find_package(MPI REQUIRED COMPONENTS CXX)
elseif(NOT PXL_MPI STREQUAL OFF)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
endif()
if(MPI_CXX_FOUND)
  add_library(pxl_mpi MODULE ${PROJECT_SOURCE_DIR}/runtime/processes/mpi/transport.cpp)
  set_target_properties(pxl_mpi PROPERTIES PREFIX "" OUTPUT_NAME pxl-mpi LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(pxl_mpi PRIVATE pxl_flags)
  # MPI's headers are C with casts of their own.
  target_include_directories(pxl_mpi SYSTEM PRIVATE ${MPI_CXX_INCLUDE_DIRS})
  target_compile_definitions(pxl_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_link_libraries(pxl_mpi PRIVATE ${MPI_CXX_LIBRARIES})
  add_dependencies(pxl pxl_mpi)
endif()
