# CPack runs this between staging and packing: each package gets the files that Debian's policy asks of all.
file(GLOB stages ${CPACK_TEMPORARY_DIRECTORY}/*/usr)
if(NOT stages)
  message(FATAL_ERROR "no package is staged in ${CPACK_TEMPORARY_DIRECTORY}")
endif()
foreach(stage ${stages})
  get_filename_component(component ${stage} DIRECTORY)
  get_filename_component(component ${component} NAME)
  execute_process(COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/debian_files.sh ${stage} ${component} ${CPACK_PXL_SOURCE}
                          ${CPACK_DEBIAN_PACKAGE_RELEASE} ${CPACK_DEBIAN_PACKAGE_MAINTAINER} ${CPACK_PXL_DAGRE_COPYRIGHT}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
