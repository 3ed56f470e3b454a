# The Python package: the extension module pxl._pxl over libpxl, and python/pxl, both in the build tree under python/pxl.
# Installs of the component python3-pxl.
set(PXL_PYTHON AUTO CACHE STRING "Build the Python module: ON, OFF, or AUTO where pybind11 and Python's headers are found")
# Debian's Python, for which its packages are, before others in the PATH.
if(NOT Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3)
endif()
set(PYBIND11_NOPYTHON ON)
if(PXL_PYTHON STREQUAL ON)
  find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Module)
  find_package(pybind11 REQUIRED CONFIG)
elseif(NOT PXL_PYTHON STREQUAL OFF)
  find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
  find_package(pybind11 QUIET CONFIG)
endif()
if(NOT Python3_Development.Module_FOUND OR NOT pybind11_FOUND)
  message(STATUS "No Python module: pybind11 or Python's headers were not found (pybind11-dev, python3-dev)")
  return()
endif()

file(GLOB binding CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/*.cpp)
add_library(pxl_python MODULE ${binding})
set_target_properties(pxl_python PROPERTIES PREFIX "" OUTPUT_NAME _pxl SUFFIX ".${Python3_SOABI}.so"
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/pxl INSTALL_RPATH "")
target_compile_options(pxl_python PRIVATE -Wall -Wextra)
if(PXL_SANITIZE)
  target_compile_options(pxl_python PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(pxl_python PRIVATE -fsanitize=address,undefined)
endif()
target_link_libraries(pxl_python PRIVATE libpxl pybind11::headers Python3::Module)

# The files of the package beside it.
file(GLOB package CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/pxl/*.py ${PROJECT_SOURCE_DIR}/python/pxl/*.pyi
  ${PROJECT_SOURCE_DIR}/python/pxl/py.typed)
set(copies)
foreach(file ${package})
  get_filename_component(name ${file} NAME)
  set(copy ${PROJECT_BINARY_DIR}/python/pxl/${name})
  add_custom_command(OUTPUT ${copy} COMMAND ${CMAKE_COMMAND} -E copy ${file} ${copy} DEPENDS ${file} VERBATIM)
  list(APPEND copies ${copy})
endforeach()
add_custom_target(pxl_python_files ALL DEPENDS ${copies})
add_dependencies(pxl_python pxl_python_files)

# Where Debian's Python looks for packages, under any prefix.
set(PXL_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where the Python package is installed, from the prefix")
install(TARGETS pxl_python LIBRARY DESTINATION ${PXL_PYTHON_DIR}/pxl COMPONENT python3-pxl)
install(FILES ${package} DESTINATION ${PXL_PYTHON_DIR}/pxl COMPONENT python3-pxl)
install(FILES examples/library/train.py examples/library/model.pxl
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-pxl/examples COMPONENT python3-pxl)
