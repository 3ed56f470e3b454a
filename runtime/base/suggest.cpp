// Edit distance for "did you mean": optimal string alignment (Damerau-Levenshtein without repeated edits of a
// substring), and equality but for case, which is treated as one slip however many letters differ.
#include "runtime/base/suggest.hpp"

#include <algorithm>

#include "runtime/base/budget.hpp"

namespace pxl {
namespace {

constexpr std::string_view question = "did you mean `";
constexpr size_t longest_name = 200;  ///< the table is quadratic
// What comparisons are charged, in ns: a candidate, with its copy in the caller's list, and an element of the table.
// Not measured.
constexpr int64_t candidate_ns = 40, element_ns = 2;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = previous[j - 1] + (a[i - 1] != b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > longest_name) return std::nullopt;
  const size_t limit = std::max<size_t>(1, name.size() / 3);
  size_t best = limit + 1;
  const std::string* found = nullptr;
  for (const std::string& candidate : candidates) {
    charge(candidate_ns);
    size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) > limit || candidate == name) continue;
    charge(element_ns * static_cast<int64_t>(name.size() * candidate.size()));
    size_t distance = same_but_case(name, candidate) ? 1 : edit_distance(name, candidate);
    // Names without a common character (x and y) are not typing errors.
    if (distance >= longer && !same_but_case(name, candidate)) continue;
    if (distance < best) best = distance, found = &candidate;
  }
  return found ? std::optional(*found) : std::nullopt;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  auto found = nearest(name, candidates);
  return found ? std::string(question) + *found + "`?" : "";
}

std::optional<std::string> meant_name(std::string_view message) {
  const size_t at = message.find(question);
  if (at == message.npos) return std::nullopt;
  const std::string_view rest = message.substr(at + question.size());
  const size_t end = rest.find("`?");
  return end == rest.npos ? std::nullopt : std::optional(std::string(rest.substr(0, end)));
}

}  // namespace pxl
