#include "runtime/base/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl {
namespace {

constexpr SettingRow table[] = {
#define PXL_SETTING(id, name, values, by_default, doc) {name, values, by_default, doc},
#include "runtime/base/settings.inc"
#undef PXL_SETTING
};

const SettingRow& row(Setting of) { return table[static_cast<size_t>(of)]; }

bool is_range(const SettingRow& r) { return r.values.find("..") != r.values.npos; }

std::optional<uint64_t> as_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::vector<std::string> words_of(const SettingRow& r) {
  std::vector<std::string> words;
  for (std::string_view rest = r.values; !rest.empty();) {
    const size_t end = std::min(rest.find('|'), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

/// The words of other programs for `on` and `off`.
std::string_view usual_word(std::string_view value) {
  for (std::string_view word : {"1", "true", "yes", "True", "ON"})
    if (value == word) return "on";
  for (std::string_view word : {"0", "false", "no", "False", "OFF"})
    if (value == word) return "off";
  return value;
}

void check(const SettingRow& r, std::string_view value) {
  if (r.values.empty()) return;
  if (is_range(r)) {
    const size_t dots = r.values.find("..");
    const uint64_t low = *as_number(r.values.substr(0, dots)), high = *as_number(r.values.substr(dots + 2));
    const std::optional<uint64_t> number = as_number(value);
    if (number && *number >= low && *number <= high) return;
    throw Error(std::string(r.name) + " is `" + std::string(value) + "`, not an integer from " + std::to_string(low) +
                    " to " + (high == UINT64_MAX ? "2^64 - 1" : std::to_string(high)),
                {}, Fault::usage);
  }
  const std::vector<std::string> words = words_of(r);
  if (std::find(words.begin(), words.end(), value) != words.end()) return;
  std::vector<std::string> notes;
  if (const std::string_view word = usual_word(value); word != value)
    notes.push_back("did you mean `" + std::string(word) + "`?");
  else if (std::string hint = did_you_mean(std::string(value), words); !hint.empty())
    notes.push_back(hint);
  throw Error(std::string(r.name) + " is `" + std::string(value) + "`; it is one of: " + join_texts(words, ", "),
              std::move(notes), Fault::usage);
}

/// The value of the variable; empty: unset.
std::string_view given(const SettingRow& r) {
  const char* value = std::getenv(r.name.data());
  return value ? value : "";
}

}  // namespace

std::span<const SettingRow> settings_table() { return table; }

std::string setting(Setting of) {
  const std::string_view value = given(row(of));
  if (value.empty()) return std::string(row(of).by_default);
  check(row(of), value);
  return std::string(value);
}

bool is_on(Setting of) { return setting(of) == "on"; }

std::optional<uint64_t> number_of(Setting of) { return as_number(setting(of)); }

void check_settings() {
  for (const SettingRow& r : table)
    if (const std::string_view value = given(r); !value.empty()) check(r, value);
}

std::vector<std::string> unknown_settings() {
  std::vector<std::string> names, sentences;
  for (const SettingRow& r : table) names.emplace_back(r.name);
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with("PXL_") || std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string hint = did_you_mean(name, names);
    sentences.push_back("the environment has " + name + ", which is no setting of pxl" +
                        (hint.empty() ? "; `pxl man` lists the settings" : ": " + hint));
  }
  return sentences;
}

}  // namespace pxl
