// Edit distance for "did you mean": optimal string alignment (Damerau-Levenshtein without repeated edits of a
// substring). Names that differ only in case count as one slip, however many letters differ.
#include "runtime/base/text/suggest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "runtime/base/limits/budget.hpp"

namespace pxl {
namespace {

constexpr std::string_view question = "did you mean `";
constexpr size_t longest_name = 200;  ///< the table is quadratic
// Charges for comparisons, in ns: per candidate, with its copy in the caller's list, and per element of the table.
constexpr int64_t candidate_ns = 40, element_ns = 2;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// The distance of a and b if it is at most `most`, else most + 1. Only the band of the table around its diagonal is
/// computed (E. Ukkonen, Algorithms for approximate string matching, 1985): an element that is further away from it is
/// larger.
size_t edit_distance(std::string_view a, std::string_view b, size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  std::array<std::array<uint16_t, 2 * longest_name>, 3> rows;
  auto *before = rows[0].data(), *previous = rows[1].data(), *current = rows[2].data();
  const uint16_t outside = static_cast<uint16_t>(most + 1);
  for (size_t j = 0; j <= std::min(b.size(), most + 1); ++j) previous[j] = static_cast<uint16_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    const size_t first = i > most ? i - most : 1, last = std::min(b.size(), i + most);
    current[first - 1] = first == 1 ? static_cast<uint16_t>(i) : outside;
    uint16_t smallest = current[first - 1];
    for (size_t j = first; j <= last; ++j) {
      int change = previous[j - 1] + (a[i - 1] != b[j - 1]);
      int least = std::min({previous[j] + 1, current[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) least = std::min(least, before[j - 2] + 1);
      current[j] = static_cast<uint16_t>(std::min<int>(least, outside));
      smallest = std::min(smallest, current[j]);
    }
    if (smallest > most) return outside;
    if (last < b.size()) current[last + 1] = outside;
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

/// The characters of a name as bits; characters share bits, so two names have at least the difference that their bits
/// have.
uint64_t characters(std::string_view name) {
  uint64_t bits = 0;
  for (char c : name) bits |= uint64_t{1} << (static_cast<unsigned char>(lower(c)) % 64);
  return bits;
}

/// A lower bound on how many characters of one name the other lacks. It never exceeds the edit distance, since an edit
/// changes one character of each name.
size_t lacking(uint64_t a, uint64_t b) {
  return static_cast<size_t>(std::max(std::popcount(a & ~b), std::popcount(b & ~a)));
}

/// Whether `part` is one or more consecutive words of `whole`: "hidden" and "size" in "hidden_size".
bool is_words_of(std::string_view part, std::string_view whole) {
  constexpr size_t min_letters = 3;
  if (part.size() < min_letters || part.size() >= whole.size()) return false;
  const auto separates = [](char c) { return c == '_' || c == '-' || c == '.'; };
  for (size_t at = whole.find(part); at != whole.npos; at = whole.find(part, at + 1)) {
    const size_t end = at + part.size();
    if ((at == 0 || separates(whole[at - 1])) && (end == whole.size() || separates(whole[end]))) return true;
  }
  return false;
}

/// The candidate with the fewest letters besides `name`'s, of those that have its words or whose words it has.
const std::string* sharing_words(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* found = nullptr;
  const uint64_t letters = characters(name);
  const auto difference = [&](const std::string& c) {
    return std::max(c.size(), name.size()) - std::min(c.size(), name.size());
  };
  for (const std::string& candidate : candidates) {
    const uint64_t others = characters(candidate);
    if ((letters & ~others) != 0 && (others & ~letters) != 0) continue;
    charge(element_ns * static_cast<int64_t>(candidate.size()));
    if (!is_words_of(name, candidate) && !is_words_of(candidate, name)) continue;
    if (!found || difference(candidate) < difference(*found)) found = &candidate;
  }
  return found;
}

}  // namespace

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > longest_name) return std::nullopt;
  const size_t limit = std::max<size_t>(1, name.size() / 3);
  size_t best = limit + 1;
  const std::string* found = nullptr;
  const uint64_t letters = characters(name);
  for (const std::string& candidate : candidates) {
    charge(candidate_ns);
    size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) > limit || candidate == name) continue;
    if (best == 1) break;
    if (lacking(letters, characters(candidate)) >= best) continue;
    charge(element_ns * static_cast<int64_t>(name.size() * std::min(candidate.size(), 2 * best)));
    size_t distance = same_but_case(name, candidate) ? 1 : edit_distance(name, candidate, best - 1);
    // Names without a common character (x and y) are not typing errors.
    if (distance >= longer && !same_but_case(name, candidate)) continue;
    if (distance < best) best = distance, found = &candidate;
  }
  if (!found) found = sharing_words(name, candidates);
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
