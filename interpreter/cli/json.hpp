// Output for programs: with --json, one object a line on standard output, described in docs/json.md; what is meant for
// people goes to standard error.
#pragma once

#include <nlohmann/json.hpp>

#include "interpreter/cli/command.hpp"

namespace pxl::cli {

using Json = nlohmann::ordered_json;

/// Writes one line, at once: readers may follow a long run.
void emit(const Json& object);
/// The "diagnostic" event.
Json diagnostic_event(const Diagnostic& d);

}  // namespace pxl::cli
