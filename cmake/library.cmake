# libpxl, the shared library of all layers, with the interface of include/pxl; and what makes it usable where it is
# installed: find_package(pxl), pkg-config. Installs of the components libpxl1 and libpxl-dev.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

pxl_layer(pxl_api FOLDERS interpreter/api LINKS pxl_tools LEVEL Og)
target_include_directories(pxl_api PUBLIC ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(pxl_api PRIVATE PXL_BUILDING_LIBRARY PXL_VERSION="${PROJECT_VERSION}")

# The number of the binary interface: that of pxl::v1 (include/pxl/export.h), not the project's version.
set(PXL_INTERFACE 1)
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/pxl/*.h ${PROJECT_SOURCE_DIR}/include/pxl/*.hpp)
file(WRITE ${PROJECT_BINARY_DIR}/libpxl.cpp.new "// libpxl is linked of layers.\n")
file(COPY_FILE ${PROJECT_BINARY_DIR}/libpxl.cpp.new ${PROJECT_BINARY_DIR}/libpxl.cpp ONLY_IF_DIFFERENT)
add_library(libpxl SHARED ${PROJECT_BINARY_DIR}/libpxl.cpp)
set_target_properties(libpxl PROPERTIES OUTPUT_NAME pxl EXPORT_NAME pxl
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} SOVERSION ${PXL_INTERFACE} VERSION ${PXL_INTERFACE}.${PROJECT_VERSION}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
target_link_libraries(libpxl PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,pxl_api>)
# nodelete: its threads would go on in memory that dlclose has unmapped.
target_link_options(libpxl PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map $<$<NOT:$<BOOL:${PXL_SANITIZE}>>:-Wl,--no-undefined>
  -Wl,-z,nodelete)
target_include_directories(libpxl INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(libpxl INTERFACE cxx_std_20)
add_library(pxl::pxl ALIAS libpxl)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pxl)
install(TARGETS libpxl EXPORT pxlTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libpxl1
  NAMELINK_COMPONENT libpxl-dev)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pxl COMPONENT libpxl-dev)
install(EXPORT pxlTargets NAMESPACE pxl:: DESTINATION ${package_dir} COMPONENT libpxl-dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pxlConfig.cmake.in ${PROJECT_BINARY_DIR}/pxlConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pxlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pxlConfig.cmake ${PROJECT_BINARY_DIR}/pxlConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT libpxl-dev)
# The prefix, from the folder of pxl.pc: the tree may be moved.
file(RELATIVE_PATH PXL_PC_PREFIX ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/pxl.pc.in ${PROJECT_BINARY_DIR}/pxl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pxl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libpxl-dev)
