# The Debian packages, one for each component that cmake --install knows: `scripts/package` makes them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pxl)
set(CPACK_PACKAGE_VENDOR "the pxl authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Our own library is of another of these packages, which dpkg-shlibdeps cannot know.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY >=)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Debian's tools take the maintainer from these variables too.
set(maintainer "the pxl authors")
if(DEFINED ENV{DEBFULLNAME})
  set(maintainer $ENV{DEBFULLNAME})
endif()
set(address pxl@localhost)
if(DEFINED ENV{DEBEMAIL})
  set(address $ENV{DEBEMAIL})
endif()
set(PXL_MAINTAINER "${maintainer} <${address}>" CACHE STRING "Who answers for the packages: NAME <ADDRESS>")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${PXL_MAINTAINER})

get_cmake_property(known_components COMPONENTS)
set(CPACK_COMPONENTS_ALL)
set(same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# pxl_package(NAME SECTION SUMMARY TEXT [DEPENDS ...] [RECOMMENDS ...] [SUGGESTS ...]): what shared libraries are needed is
# found out by dpkg-shlibdeps, save those that are opened when a file needs them.
macro(pxl_package name section summary text)
  if(${name} IN_LIST known_components)
    cmake_parse_arguments(P "" "" "DEPENDS;RECOMMENDS;SUGGESTS" ${ARGN})
    string(TOUPPER ${name} upper)
    list(APPEND CPACK_COMPONENTS_ALL ${name})
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
    set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${text}")
    set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${text}")
    foreach(relation DEPENDS RECOMMENDS SUGGESTS)
      string(REPLACE ";" ", " CPACK_DEBIAN_${upper}_PACKAGE_${relation} "${P_${relation}}")
    endforeach()
  endif()
endmacro()

set(file_libraries libpng16-16 libsndfile1 libturbojpeg0 libzip4)
pxl_package(pxl math "language and runtime for explicit tensor graphs"
"pxl is a language, an interpreter and a runtime for graphs of tensor ops.
Shapes and dtypes are checked while a graph is built; programs are planned,
fused and run on all cores.
.
This package has the command with its REPL, language server, formatter and
tools, the manual, completions for shells, files for Vim, and examples."
  RECOMMENDS ${file_libraries} SUGGESTS graphviz pxl-jupyter pxl-mpi)
pxl_package(pxl-mpi math "pxl in several processes over MPI"
"The plug-in with which replicas of a program of pxl run in several
processes, on one machine or several."
  DEPENDS "pxl ${same_version}" RECOMMENDS openmpi-bin)
pxl_package(pxl-jupyter math "Jupyter kernel for pxl"
"Notebooks and consoles of Jupyter with cells in pxl, the language for
explicit tensor graphs: charts, tables, drawn graphs and completion."
  DEPENDS "pxl ${same_version}" RECOMMENDS "jupyter-notebook | jupyter-console" SUGGESTS graphviz)
pxl_package(libpxl1 libs "runtime of pxl as a shared library"
"Programs that load, run and train graphs of pxl, the language for explicit
tensor graphs, need this library."
  RECOMMENDS ${file_libraries})
pxl_package(libpxl-dev libdevel "files for developing with the library of pxl"
"Headers of the C++ and C interfaces to pxl, the language for explicit
tensor graphs, with files for CMake and pkg-config."
  DEPENDS "libpxl1 ${same_version}")
# The module is of the ABI of one Python.
set(python_version ${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR})
math(EXPR next_minor "0${Python3_VERSION_MINOR} + 1")
set(python_after ${Python3_VERSION_MAJOR}.${next_minor})
pxl_package(python3-pxl python "pxl for Python"
"Programs of pxl, the language for explicit tensor graphs, loaded and run
from Python, with arrays of NumPy and tensors of PyTorch in and out without
copies."
  DEPENDS "libpxl1 ${same_version}" "python3 (>= ${python_version})" "python3 (<< ${python_after})" python3-numpy RECOMMENDS ${file_libraries})

# What only Debian's packages have is added to the staged files: the copyright, the changelog, compressed manuals.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package/debian_files.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package/ldconfig_trigger.cmake)
set(CPACK_PXL_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_PXL_DAGRE_COPYRIGHT ${PXL_DAGRE_COPYRIGHT})
include(CPack)
