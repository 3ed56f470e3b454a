// JSON output: with --json, standard output is one object per line (docs/json.md), and text for people goes to
// standard error.
#pragma once

#include <nlohmann/json.hpp>

#include "interpreter/cli/command.hpp"

namespace pxl::cli {

using Json = nlohmann::ordered_json;

/// Writes and flushes one line, so that readers can follow a long run.
void emit(const Json& object);
/// The "diagnostic" event.
Json diagnostic_event(const Diagnostic& d);

}  // namespace pxl::cli
