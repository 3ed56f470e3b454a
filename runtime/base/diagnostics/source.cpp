// Source texts: the line index, positions in code points, and how wide text is on a terminal.
#include "runtime/base/diagnostics/source.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/diagnostics/source_registry.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/base/threads/fork.hpp"

namespace pxl {

SourceFile::SourceFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  // Offsets are 32 bits so that a span stays small; half of the range also keeps sums of two offsets in range.
  if (text_.size() > std::numeric_limits<uint32_t>::max() / 2)
    throw Error(name_ + " is too long for a source text (more than 2 GiB)", {}, Fault::unreadable);
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(static_cast<uint32_t>(i + 1));
}

Position SourceFile::position(uint32_t offset) const {
  offset = std::min(offset, static_cast<uint32_t>(text_.size()));
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  uint32_t start = *(after - 1);
  Position p;
  p.line = static_cast<int>(after - line_starts_.begin());
  for (uint32_t i = start; i < offset; ++i)
    if (!is_continuation(text_[i])) ++p.column;
  return p;
}

uint32_t SourceFile::line_start(int number) const {
  if (number < 1) return 0;
  if (number > line_count()) return static_cast<uint32_t>(text_.size());
  return line_starts_[static_cast<size_t>(number - 1)];
}

std::string_view SourceFile::line(int number) const {
  if (number < 1 || number > line_count()) return {};
  std::string_view rest = std::string_view(text_).substr(line_start(number));
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<SourceFile>> sources;
  // Identical texts of one name share a source, because the language server reads imported files repeatedly.
  std::unordered_multimap<size_t, const SourceFile*> known;
};

Registry& registry() {
  // Leaked on purpose: static destructors may still render diagnostics.
  static Registry* all = [] {
    auto* made = new Registry;
    hold_during_fork(made->mutex);
    return made;
  }();
  return *all;
}

}  // namespace

const SourceFile& add_source(std::string name, std::string text) {
  Registry& all = registry();
  const size_t key = std::hash<std::string>()(text) ^ std::hash<std::string>()(name);
  std::lock_guard lock(all.mutex);
  const auto [first, last] = all.known.equal_range(key);
  for (auto it = first; it != last; ++it)
    if (it->second->name() == name && it->second->text() == text) return *it->second;
  auto source = std::make_unique<SourceFile>(std::move(name), std::move(text));
  all.known.emplace(key, source.get());
  all.sources.push_back(std::move(source));
  return *all.sources.back();
}

const SourceFile* find_source(std::string_view name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  const auto named = [&](const std::unique_ptr<SourceFile>& source) { return source->name() == name; };
  const auto found = std::find_if(all.sources.rbegin(), all.sources.rend(), named);
  return found == all.sources.rend() ? nullptr : found->get();
}

Span join(Span a, Span b) {
  if (!a) return b;
  if (!b || a.file != b.file) return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

int display_width(std::string_view utf8) {
  int width = 0;
  for (size_t i = 0; i < utf8.size();) width += code_point_width(next_code_point(utf8, i));
  return width;
}

}  // namespace pxl
