#include "interpreter/cli/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "interpreter/tools/theme.hpp"

namespace pxl::cli {
namespace {

constexpr int max_edits = 3000;  ///< maximum edit distance: memory is quadratic in it
constexpr size_t context = 3;

using Lines = std::vector<std::string_view>;

Lines split(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

/// ' ' for a line in both texts, '-' for a line in the first only, '+' for a line in the second only.
std::string edits(const Lines& a, const Lines& b) {
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size()), most = std::min(n + m, max_edits);
  std::vector<std::vector<int>> trace;
  std::vector<int> reach(2 * static_cast<size_t>(most) + 3, 0);
  auto at = [&](std::vector<int>& v, int k) -> int& { return v[static_cast<size_t>(k + most + 1)]; };
  int found = -1;
  for (int d = 0; d <= most && found < 0; ++d) {
    for (int k = -d; k <= d; k += 2) {
      int x = k == -d || (k != d && at(reach, k - 1) < at(reach, k + 1)) ? at(reach, k + 1) : at(reach, k - 1) + 1;
      while (x < n && x - k >= 0 && x - k < m && a[static_cast<size_t>(x)] == b[static_cast<size_t>(x - k)]) ++x;
      at(reach, k) = x;
      if (x >= n && x - k >= m) found = d;
    }
    trace.emplace_back(reach.begin() + most + 1 - d, reach.begin() + most + 2 + d);
  }
  if (found < 0) return std::string(a.size(), '-') + std::string(b.size(), '+');
  std::string out;
  int x = n, y = m;
  for (int d = found; d > 0; --d) {
    const std::vector<int>& v = trace[static_cast<size_t>(d - 1)];
    auto before = [&](int k) { return std::abs(k) > d - 1 ? -1 : v[static_cast<size_t>(k + d - 1)]; };
    const int k = x - y;
    const bool down = k == -d || (k != d && before(k - 1) < before(k + 1));
    const int from = down ? k + 1 : k - 1;
    const int px = before(from), py = px - from;
    for (const int start = down ? px : px + 1; x > start; --x) out += ' ';
    out += down ? '+' : '-';
    x = px, y = py;
  }
  out.append(static_cast<size_t>(x), ' ');
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, const std::string& before_name,
                         const std::string& after_name) {
  if (before == after) return {};
  const Lines a = split(before), b = split(after);
  const std::string script = edits(a, b);
  std::string out = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  size_t x = 0, y = 0;  // number of finished lines of a and b
  for (size_t i = 0; i < script.size();) {
    const size_t change = script.find_first_not_of(' ', i);
    if (change == script.npos) break;
    const size_t start = change - std::min(context, change - i);
    x += start - i, y += start - i;
    size_t end = change;
    for (size_t same = 0; end < script.size() && same <= 2 * context; ++end) same = script[end] == ' ' ? same + 1 : 0;
    while (end > change && script[end - 1] == ' ') --end;
    end = std::min(end + context, script.size());
    const auto of = [&](char mark) {
      return static_cast<size_t>(std::count_if(script.begin() + static_cast<ptrdiff_t>(start),
                                               script.begin() + static_cast<ptrdiff_t>(end),
                                               [&](char c) { return c == ' ' || c == mark; }));
    };
    const size_t as = of('-'), bs = of('+');
    out += fmt::format("@@ -{},{} +{},{} @@\n", as ? x + 1 : x, as, bs ? y + 1 : y, bs);
    for (size_t k = start; k < end; ++k) {
      const std::string_view line = script[k] == '+' ? b[y] : a[x];
      out += script[k];
      out += line;
      if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
      x += script[k] != '+', y += script[k] != '-';
    }
    i = end;
  }
  return out;
}

std::string coloured_diff(std::string_view diff) {
  std::string out;
  bool in_head = true;  // lines of a hunk may begin with `--` too
  while (!diff.empty()) {
    const size_t end = std::min(diff.find('\n'), diff.size());
    const std::string_view line = diff.substr(0, end);
    if (line.starts_with("@@")) in_head = false;
    const char mark = line.empty() ? ' ' : line[0];
    out += styled(line, in_head ? "1" : mark == '@' ? "36" : mark == '-' ? "31" : mark == '+' ? "32" : "");
    if (end < diff.size()) out += '\n';
    diff.remove_prefix(std::min(end + 1, diff.size()));
  }
  return out;
}

}  // namespace pxl::cli
