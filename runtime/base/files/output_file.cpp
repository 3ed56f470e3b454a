#include "runtime/base/files/output_file.hpp"

#include <utility>

#include "runtime/base/effects.hpp"
#include "runtime/base/never_destroyed.hpp"

namespace pxl {
namespace {

constexpr int common = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

int flags_of(Opening opening) {
  switch (opening) {
    case Opening::present: return common | O_WRONLY | O_NOFOLLOW;
    case Opening::open_file: return common | O_WRONLY | O_APPEND;
    case Opening::leftover: return common | O_RDWR | O_NOFOLLOW;
    case Opening::appended: return common | O_WRONLY | O_APPEND | O_CREAT;
    case Opening::fresh: return common | O_RDWR | O_CREAT | O_EXCL;
    case Opening::unnamed: return common | O_RDWR | O_TMPFILE;
  }
  return 0;
}

FileGate& gate() {
  static auto& own = never_destroyed(FileGate());
  return own;
}

}  // namespace

Descriptor open_to_write(const std::string& name, Opening opening, mode_t mode, int folder) {
  require_effect(Effect::writes_files);
  return Descriptor(::openat(folder, name.c_str(), flags_of(opening), mode));
}

void set_file_gate(FileGate own) { gate() = std::move(own); }
bool shares_files() { return static_cast<bool>(gate().written); }

void write_once(const std::string& path, const std::function<void()>& write, const std::function<void()>& otherwise) {
  require_effect(Effect::writes_files);
  if (gate().writes)
    write();
  else if (otherwise)
    otherwise();
  if (gate().written) gate().written(path);
}

}  // namespace pxl
