#include "interpreter/values/notices.hpp"

#include <fmt/format.h>

#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/interpreter.hpp"
#include "runtime/base/diagnostics/library_sources.hpp"

namespace pxl {

void notice_once(Interpreter& in, Notice kind, const std::string& text) {
  const Span& at = position_of(in).here;
  if (!at.file || is_library(at.file->name())) return;
  if (in.checking) {
    Diagnostic warning;
    warning.severity = Severity::warning;
    warning.message = text;
    warning.span = at;
    warning.code = kind == Notice::dropped ? unused_result : other_meaning;
    if (const auto& warn = host_of(in).options().warn) warn(std::move(warning));
    return;
  }
  if (!host_of(in).is_first(static_cast<unsigned>(kind))) return;
  host_of(in).notice(fmt::format("{}:{}: notice: {}\n", at.file->name(), at.file->position(at.begin).line, text));
}

}  // namespace pxl
