# What `pxl --version` and the manual say beside the version of project(): the day of the release, from the heading
# `## VERSION (YYYY-MM-DD)` of CHANGELOG.md, and the commit, which git's log of HEAD tells to be another.
file(STRINGS ${PROJECT_SOURCE_DIR}/CHANGELOG.md heading REGEX "^## ${PROJECT_VERSION} ")
if(NOT heading MATCHES "^## [0-9.]+ \\((20[0-9][0-9]-[0-9][0-9]-[0-9][0-9])\\)$")
  message(FATAL_ERROR "CHANGELOG.md: expected a heading `## ${PROJECT_VERSION} (YYYY-MM-DD)`")
endif()
set(PXL_RELEASE_DATE ${CMAKE_MATCH_1})
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md)

# A file of its own, so that nothing else is compiled anew when the version or the commit changes.
set(version_source ${PROJECT_BINARY_DIR}/version_texts.cpp)
set(head_log)
find_program(GIT git)
if(GIT AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT} -C ${PROJECT_SOURCE_DIR} rev-parse --git-path logs/HEAD
                  OUTPUT_VARIABLE head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(head_log "${head_log}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  if(NOT EXISTS "${head_log}" OR IS_DIRECTORY "${head_log}")
    set(head_log)
  endif()
endif()
set(version_script ${PROJECT_SOURCE_DIR}/cmake/version_texts.cmake)
add_custom_command(OUTPUT ${version_source}
  COMMAND ${CMAKE_COMMAND} -DOUT=${version_source} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          -DDATE=${PXL_RELEASE_DATE} -P ${version_script}
  DEPENDS ${head_log} ${version_script} ${PROJECT_SOURCE_DIR}/cmake/commit.txt
  COMMENT "Naming the commit" VERBATIM)
set_source_files_properties(${version_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_sources(pxl_cli PRIVATE ${version_source})
