#include "interpreter/syntax/name.hpp"

#include <mutex>
#include <unordered_set>

#include "runtime/base/threads/fork.hpp"

namespace pxl {

namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

struct Names {
  std::mutex mutex;
  std::unordered_set<std::string, TextHash, std::equal_to<>> texts;  // node-based: addresses of the strings are stable
};

}  // namespace

Name::Name(std::string_view text) {
  // Never destroyed, since static objects may hold names.
  static Names& names = []() -> Names& {
    auto* made = new Names;
    hold_during_fork(made->mutex);
    return *made;
  }();
  const std::lock_guard<std::mutex> lock(names.mutex);
  auto found = names.texts.find(text);
  if (found == names.texts.end()) found = names.texts.emplace(text).first;
  text_ = &*found;
}

}  // namespace pxl
