#include "interpreter/repl/history.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/output_file.hpp"

namespace pxl {
namespace {

namespace fs = std::filesystem;

std::string escaped(const std::string& input) {
  std::string out;
  for (char c : input) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  }
  return out + '\n';
}

std::string unescaped(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size())
      out += line[++i] == 'n' ? '\n' : line[i];
    else
      out += line[i];
  }
  return out;
}

std::string folder(const char* variable, const char* below_home) {
  if (const char* set = std::getenv(variable); set && *set == '/') return set;
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + below_home : std::string();
}

}  // namespace

std::string history_path() {
  const std::string base = folder("XDG_STATE_HOME", "/.local/state");
  return base.empty() ? base : base + "/pxl/history";
}
std::string init_path() {
  const std::string base = folder("XDG_CONFIG_HOME", "/.config");
  return base.empty() ? base : base + "/pxl/init.pxl";
}

History::History(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::ifstream file(path_, std::ios::binary);
  std::ostringstream content;
  if (file) content << file.rdbuf();
  const std::string text = content.str();
  size_t at = 0;
  for (size_t end; (end = text.find('\n', at)) != text.npos; at = end + 1)
    inputs_.push_back(unescaped(std::string_view(text).substr(at, end - at)));
  const bool torn = at < text.size();
  if (inputs_.size() <= 2 * most && !torn) return;
  if (inputs_.size() > most) inputs_.erase(inputs_.begin(), inputs_.end() - static_cast<std::ptrdiff_t>(most));
  std::string kept;
  for (const std::string& input : inputs_) kept += escaped(input);
  try {
    write_file_atomically(path_, kept);
  } catch (const Error&) {
    path_.clear();
  }
}

bool History::add(const std::string& input) {
  if (input.empty() || input[0] == ' ' || (!inputs_.empty() && inputs_.back() == input)) return false;
  inputs_.push_back(input);
  if (path_.empty()) return true;
  std::error_code ignored;
  fs::create_directories(fs::path(path_).parent_path(), ignored);
  const Descriptor file = open_to_write(path_, Opening::appended, 0600);
  if (file.fd < 0) return true;
  const std::string line = escaped(input);
  if (::write(file.fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) path_.clear();
  return true;
}

}  // namespace pxl
