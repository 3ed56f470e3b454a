# Writes OUT: the two enums of the generated parser header IN (first tokens, then rules).
file(READ ${IN} header)
set(body)
foreach(which RANGE 1)
  string(REGEX MATCH "enum {[^}]*}" enum "${header}")
  string(REPLACE "${enum}" "" header "${header}")
  string(APPEND body "${enum};\n")
endforeach()
file(WRITE ${OUT} "// Generated from PxlParser.h: token types and rule indexes.\n#pragma once\nnamespace pxl::ids {\n${body}}  // namespace pxl::ids\n")
