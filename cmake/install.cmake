# What `cmake --install` puts where, below any prefix (GNU's folders). A component is what one Debian package has
# (cmake/package.cmake); libraries and modules add theirs where they are built.
set(share ${CMAKE_INSTALL_DATADIR})

# Programs and modules that the command itself starts and opens (runtime/base/files/installation.hpp).
set(private_libraries ${CMAKE_INSTALL_LIBDIR}/pxl)
file(RELATIVE_PATH library_folder ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/pxl)
set_source_files_properties(${PROJECT_SOURCE_DIR}/runtime/base/files/installation.cpp
                            PROPERTIES COMPILE_DEFINITIONS PXL_LIBRARY_FOLDER="${library_folder}")

install(TARGETS pxl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT pxl)
if(TARGET pxl_mpi)
  install(TARGETS pxl_mpi LIBRARY DESTINATION ${private_libraries} COMPONENT pxl-mpi)
endif()
if(TARGET pxl-kernel)
  install(TARGETS pxl-kernel RUNTIME DESTINATION ${private_libraries} COMPONENT pxl-jupyter)
  # The command writes the specification, which has the path that the command will have.
  install(CODE "
    execute_process(COMMAND \"$<TARGET_FILE:pxl>\" kernel --install --prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\"
                            --program \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/pxl\"
                    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
    file(GLOB written \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/jupyter/kernels/pxl/*\")
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${written})" COMPONENT pxl-jupyter)
endif()

# The manual and the completions are made of the command's own tables.
set(written ${PROJECT_BINARY_DIR}/install)
set(written_files)
function(pxl_writes file)
  add_custom_command(OUTPUT ${written}/${file} COMMAND pxl ${ARGN} > ${written}/${file} DEPENDS pxl
                     COMMENT "Writing ${file}" VERBATIM)
  set(written_files ${written_files} ${written}/${file} PARENT_SCOPE)
endfunction()
file(MAKE_DIRECTORY ${written})
pxl_writes(pxl.1 man)
foreach(shell bash zsh fish)
  pxl_writes(completions.${shell} completions ${shell})
endforeach()
add_custom_target(pxl_install_files ALL DEPENDS ${written_files})
install(FILES ${written}/pxl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT pxl)
install(FILES ${written}/completions.bash DESTINATION ${share}/bash-completion/completions RENAME pxl COMPONENT pxl)
install(FILES ${written}/completions.fish DESTINATION ${share}/fish/vendor_completions.d RENAME pxl.fish COMPONENT pxl)
# Debian's zsh reads completions of packages from a folder of their own.
set(zsh_folder site-functions)
if(EXISTS /etc/debian_version AND CMAKE_INSTALL_PREFIX STREQUAL /usr)
  set(zsh_folder vendor-completions)
endif()
install(FILES ${written}/completions.zsh DESTINATION ${share}/zsh/${zsh_folder} RENAME _pxl COMPONENT pxl)

# Files to read: the command has the library's texts inside.
install(DIRECTORY stdlib DESTINATION ${share}/pxl COMPONENT pxl FILES_MATCHING PATTERN *.pxl)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT pxl PATTERN library EXCLUDE)
install(DIRECTORY examples/library/ DESTINATION ${share}/doc/libpxl-dev/examples COMPONENT libpxl-dev)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT pxl)

install(DIRECTORY editors/vim/ DESTINATION ${share}/vim/vimfiles COMPONENT pxl)
install(FILES editors/mime/pxl.xml DESTINATION ${share}/mime/packages COMPONENT pxl)
