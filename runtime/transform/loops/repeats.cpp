// A suffix array by prefix doubling (Manber and Myers, "Suffix arrays: a new method for on-line string searches", 1990)
// and longest common prefixes (Kasai et al., 2001); the repeats are its intervals of equal prefixes.
#include "runtime/transform/loops/repeats.hpp"

#include <algorithm>
#include <numeric>

namespace pxl {

namespace {

std::vector<size_t> sorted_suffixes(const std::vector<int64_t>& text) {
  const size_t n = text.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<int64_t> rank(text), next(n);
  for (size_t width = 1;; width *= 2) {
    const auto key = [&](size_t i) { return i + width < n ? rank[i + width] : INT64_MIN; };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return rank[a] != rank[b] ? rank[a] < rank[b] : key(a) != key(b) ? key(a) < key(b) : a < b;
    });
    int64_t last = 0;
    for (size_t k = 0; k < n; ++k) {
      if (k > 0 && (rank[order[k - 1]] != rank[order[k]] || key(order[k - 1]) != key(order[k]))) ++last;
      next[order[k]] = last;
    }
    rank.swap(next);
    if (n == 0 || last + 1 == static_cast<int64_t>(n) || width >= n) return order;
  }
}

/// common[k]: the length of the prefix that the suffixes order[k - 1] and order[k] share.
std::vector<int64_t> common_prefixes(const std::vector<int64_t>& text, const std::vector<size_t>& order) {
  const size_t n = text.size();
  std::vector<size_t> place(n);
  for (size_t k = 0; k < n; ++k) place[order[k]] = k;
  std::vector<int64_t> common(n, 0);
  size_t length = 0;
  for (size_t i = 0; i < n; ++i) {
    if (place[i] == 0) {
      length = 0;
      continue;
    }
    const size_t j = order[place[i] - 1];
    while (i + length < n && j + length < n && text[i + length] == text[j + length]) ++length;
    common[place[i]] = static_cast<int64_t>(length);
    if (length > 0) --length;
  }
  return common;
}

}  // namespace

Repeats find_repeats(const std::vector<int64_t>& text) {
  Repeats found;
  found.order = sorted_suffixes(text);
  const std::vector<int64_t> common = common_prefixes(text, found.order);
  std::vector<Repeat> open;
  for (size_t k = 1; k <= text.size(); ++k) {
    const int64_t here = k < text.size() ? common[k] : 0;
    size_t first = k - 1;
    while (!open.empty() && open.back().length > here) {
      open.back().last = k - 1;
      first = open.back().first;
      found.repeats.push_back(open.back());
      open.pop_back();
    }
    if (here > 0 && (open.empty() || open.back().length < here)) open.push_back({here, first, first});
  }
  return found;
}

}  // namespace pxl
