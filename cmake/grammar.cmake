# ANTLR: the tools 4.7.2 of Debian 12 and 4.9.2 of Debian 13 work with the runtime 4.9 of both. The generated code and the runtime's headers are seen
# by interpreter/syntax alone; -fno-char8_t because the 4.9 headers assign u8 literals to char.
find_program(ANTLR4 antlr4 REQUIRED)
find_path(ANTLR4_INCLUDE antlr4-runtime.h PATH_SUFFIXES antlr4-runtime REQUIRED)
find_library(ANTLR4_LIBRARY antlr4-runtime REQUIRED)

set(grammar_out ${PROJECT_BINARY_DIR}/grammar)
set(grammar_sources ${grammar_out}/PxlLexer.cpp ${grammar_out}/PxlParser.cpp)
add_custom_command(
  OUTPUT ${grammar_sources} ${grammar_out}/PxlLexer.h ${grammar_out}/PxlParser.h
  COMMAND ${ANTLR4} -Dlanguage=Cpp -package pxl_grammar -no-listener -no-visitor -Xexact-output-dir -o ${grammar_out}
          ${PROJECT_SOURCE_DIR}/grammar/PxlLexer.g4 ${PROJECT_SOURCE_DIR}/grammar/PxlParser.g4
  DEPENDS grammar/PxlLexer.g4 grammar/PxlParser.g4
  COMMENT "Generating the parser" VERBATIM)
# The numbers of tokens and rules, in a header without ANTLR: all of interpreter/syntax but two files needs only these.
add_custom_command(
  OUTPUT ${grammar_out}/pxl_grammar_ids.hpp
  COMMAND ${CMAKE_COMMAND} -DIN=${grammar_out}/PxlParser.h -DOUT=${grammar_out}/pxl_grammar_ids.hpp
          -P ${PROJECT_SOURCE_DIR}/cmake/grammar_ids.cmake
  DEPENDS ${grammar_out}/PxlParser.h ${PROJECT_SOURCE_DIR}/cmake/grammar_ids.cmake VERBATIM)
list(APPEND grammar_sources ${grammar_out}/pxl_grammar_ids.hpp)
add_library(pxl_grammar STATIC ${grammar_sources})
target_include_directories(pxl_grammar SYSTEM PUBLIC ${grammar_out} ${PROJECT_SOURCE_DIR}/grammar ${ANTLR4_INCLUDE})
# The generated code is tables and calls of the runtime.
target_compile_options(pxl_grammar PUBLIC -fno-char8_t PRIVATE -w $<$<CONFIG:Release>:-O1>)
target_link_libraries(pxl_grammar PUBLIC ${ANTLR4_LIBRARY})
