# Writes OUT: commit() of interpreter/cli/version.hpp, from git in SOURCE; in an archive that `git archive` made, from
# commit.txt, whose placeholder git has replaced.
find_program(GIT git)
set(commit)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt commit LIMIT_COUNT 1)
  if(commit MATCHES "Format")
    set(commit unknown)
  endif()
endif()
set(text "// Generated.\n#include \"interpreter/cli/version.hpp\"\nnamespace pxl::cli {\nstd::string_view commit() { return \"${commit}\"; }\n}  // namespace pxl::cli\n")
file(WRITE ${OUT} "${text}")
