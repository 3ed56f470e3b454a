// Describes this build of pxl.
#pragma once

#include <string_view>

namespace pxl::cli {

struct CommonFlags;

/// "0.2.0": the version in project() of CMakeLists.txt.
std::string_view version();
/// The day of the release, "2026-11-23": the version's heading in CHANGELOG.md.
std::string_view release_date();
/// The abbreviated commit of the sources. It is "unknown" if neither git nor the release's archive names a commit
/// (cmake/version_texts.cmake). Uncommitted changes do not show.
std::string_view commit();
/// `pxl --version`: all of these with compiler, engines, instruction sets and line editor; the event "version" with
/// --json.
void print_version(const CommonFlags& flags);

}  // namespace pxl::cli
