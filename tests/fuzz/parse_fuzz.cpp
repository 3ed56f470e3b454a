// Any bytes: parse() and completeness() must return, agree with each other, and keep spans within the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "interpreter/syntax/parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The fuzzer does not call add_source, which would keep the text of each run.
  const pxl::SourceFile source("<fuzz>", std::string(reinterpret_cast<const char*>(data), size));
  pxl::ParseResult result = pxl::parse(source);
  if ((result.tree == nullptr) == result.diagnostics.empty()) std::abort();
  for (const pxl::Diagnostic& d : result.diagnostics)
    if (!d.span || d.span.begin > d.span.end || d.span.end > size || d.message.empty()) std::abort();
  pxl::Completeness state = pxl::completeness(source);
  if (state == pxl::Completeness::complete && !result.tree) std::abort();
  return 0;
}
