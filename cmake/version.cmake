# What `pxl --version` and the manual say beside the version of project(): the day of the release, from the heading
# `## VERSION (YYYY-MM-DD)` of CHANGELOG.md, and the commit, which git's log of HEAD tells to be another.
file(STRINGS ${PROJECT_SOURCE_DIR}/CHANGELOG.md heading REGEX "^## ${PROJECT_VERSION} ")
if(NOT heading MATCHES "^## [0-9.]+ \\((20[0-9][0-9]-[0-9][0-9]-[0-9][0-9])\\)$")
  message(FATAL_ERROR "CHANGELOG.md: expected a heading `## ${PROJECT_VERSION} (YYYY-MM-DD)`")
endif()
set(PXL_RELEASE_DATE ${CMAKE_MATCH_1})
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md)

# Only what reads it is compiled anew when the version or the commit changes.
set_source_files_properties(${PROJECT_SOURCE_DIR}/interpreter/cli/version.cpp PROPERTIES
  COMPILE_DEFINITIONS "PXL_VERSION=\"${PROJECT_VERSION}\";PXL_RELEASE_DATE=\"${PXL_RELEASE_DATE}\"")
set(commit_source ${PROJECT_BINARY_DIR}/commit.cpp)
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
add_custom_command(OUTPUT ${commit_source}
  COMMAND ${CMAKE_COMMAND} -DOUT=${commit_source} -DSOURCE=${PROJECT_SOURCE_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake
  DEPENDS ${head_log} ${PROJECT_SOURCE_DIR}/cmake/commit.cmake ${PROJECT_SOURCE_DIR}/cmake/commit.txt
  COMMENT "Naming the commit" VERBATIM)
set_source_files_properties(${commit_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_sources(pxl_cli PRIVATE ${commit_source})
