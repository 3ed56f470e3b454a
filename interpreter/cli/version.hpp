// What this build of pxl is.
#pragma once

#include <string_view>

namespace pxl::cli {

struct CommonFlags;

/// "0.2.0": project() of CMakeLists.txt.
std::string_view version();
/// The day of the release, "2026-11-23": the version's heading in CHANGELOG.md.
std::string_view release_date();
/// The commit that the sources are of, abbreviated; "unknown" if neither git nor the archive of a release tells
/// (cmake/version_texts.cmake). Changes that are not committed do not show.
std::string_view commit();
/// `pxl --version`: all of it with compiler, engines, instruction sets and line editor; the event "version" with
/// --json.
void print_version(const CommonFlags& flags);

}  // namespace pxl::cli
