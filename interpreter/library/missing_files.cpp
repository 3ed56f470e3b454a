#include "interpreter/library/missing_files.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "interpreter/values/call_chain.hpp"
#include "runtime/base/files/source_folder.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl {

namespace fs = std::filesystem;

void note_missing_file(Interpreter& in, Error& e, const std::string& path) {
  std::error_code ignored;
  if (path.empty() || fs::exists(path, ignored)) return;
  const Span& here = position_of(in).here;
  if (here && fs::path(path).is_relative())
    if (const fs::path beside = folder_of_source(here.file->name()) / path; fs::is_regular_file(beside, ignored)) {
      e.first().notes.push_back(fmt::format("it is beside the script: `beside(\"{}\")`", path));
      return;
    }
  constexpr int64_t entry_ns = 1000, max_entries = 10'000;
  const fs::path folder = fs::path(path).parent_path();
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    charge(entry_ns);
    names.push_back((folder / it->path().filename()).string());
    if (names.size() == max_entries) break;
  }
  if (std::string hint = did_you_mean(path, names); !hint.empty()) e.first().notes.push_back(std::move(hint));
}

}  // namespace pxl
