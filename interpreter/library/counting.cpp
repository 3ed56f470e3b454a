// Host arrays whose shape depends on elements: nonzero, bincount, unique.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "interpreter/library/builtins.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/kernels/reduction/rank.hpp"
#include "runtime/tensor/exact.hpp"

namespace pxl {

namespace {

/// The argument as an array: a tensor has no elements before a run.
Array elements_of(Interpreter& in, const ArgReader& args, std::string_view name) {
  const Value x = args.value("x");
  if (mentions_tensor(x))
    throw Error(
        fmt::format("{}: the shape of its result depends on elements, and a tensor has none before a session runs",
                    name),
        {"`eval(t)` gives a tensor's value"})
        .as(codes::no_value_yet);
  return to_array(in, x);
}

/// Whether two elements differ; a NaN differs from all.
template <class T>
bool is_other(T a, T b) {
  if constexpr (is_narrow_v<T>)
    return static_cast<float>(a) != static_cast<float>(b);
  else
    return a != b;
}

Value nonzero(Interpreter& in, const Arguments& args) {
  const Array x = elements_of(in, ArgReader(args), "nonzero");
  const auto rank = static_cast<int64_t>(x.rank());
  charge(5 * x.size());
  std::vector<int64_t> found;
  with_type(x.dtype(), [&]<class T>(type_tag<T>) {
    const T* from = x.data<T>();
    const T zero{};
    for (int64_t i = 0; i < x.size(); ++i)
      if (is_other(from[i], zero)) found.push_back(i);
  });
  Array places(DType::int32, {static_cast<int64_t>(found.size()), rank});
  int32_t* to = places.has_elements() ? places.mutable_data<int32_t>() : nullptr;
  const Shape shape = x.shape();
  std::vector<int64_t> at(shape.size(), 0);
  int64_t row = 0;  // of the last axis: a place's other numbers change with it
  for (const int64_t i : found) {
    if (rank == 0) break;
    const int64_t columns = shape.back();
    if (i / columns != row) {
      row = i / columns;
      int64_t rest = row;
      for (size_t axis = shape.size() - 1; axis-- > 0; rest /= shape[axis]) at[axis] = rest % shape[axis];
    }
    at.back() = i - row * columns;
    for (const int64_t place : at) *to++ = static_cast<int32_t>(place);
  }
  return places;
}

/// The sums of the weights of each integer, in float64, and rounded once.
Array summed_weights(const Array& x, const Array& counts, const Array& weights) {
  if (weights.shape() != x.shape())
    throw Error(fmt::format("bincount: weights of shape {} for elements of shape {}", bracket_text(weights.shape()),
                            bracket_text(x.shape())))
        .as(codes::shape);
  Array sums = Array::zeros(DType::float64, counts.shape());
  double* to = sums.mutable_data<double>();
  for (int64_t i = 0; i < x.size(); ++i) to[static_cast<int64_t>(x.number(i))] += weights.number(i);
  return sums.cast(weights.dtype());
}

Value bincount(Interpreter& in, const Arguments& args) {
  const ArgReader a(args);
  const Array x = elements_of(in, a, "bincount");
  static constexpr int64_t most = int64_t{1} << 31;
  const int64_t n = a.integer("minlength");
  if (n < 0 || n > most) throw run_error(fmt::format("bincount: minlength must be in 0..{}, not {}", most, n));
  if (!is_integer(x.dtype()) && x.size() > 0)
    throw run_error(fmt::format("bincount: x must be integers, not {}", name(x.dtype())), {"cast it: cast(x, int32)"})
        .as(codes::dtype);
  charge(5 * x.size());
  Array counts;
  with_type(x.dtype(), [&]<class T>(type_tag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const T* from = x.data<T>();
      // Counted as the elements are read; there are more numbers when an element is the greatest so far.
      std::vector<int32_t> found(static_cast<size_t>(n));
      int32_t* to = found.data();
      auto size = static_cast<uint64_t>(n);
      for (int64_t i = 0; i < x.size(); ++i) {
        const auto k = static_cast<uint64_t>(from[i]);
        if (k >= size) [[unlikely]] {
          if (k >= static_cast<uint64_t>(most))
            throw run_error(fmt::format("bincount: element {} is {}; expected 0..{}", i, x.number(i), most - 1));
          found.resize(k + 1);
          to = found.data(), size = k + 1;
        }
        ++to[k];
      }
      counts = Array(DType::int32, {static_cast<int64_t>(size)});
      if (size > 0) std::ranges::copy(found, counts.mutable_data<int32_t>());
    } else {
      counts = Array::zeros(DType::int32, {n});
    }
  });
  if (!a.has("weights")) return counts;
  charge(20 * x.size());
  return summed_weights(x, counts, to_array(in, a.value("weights")));
}

/// The places of elements, sorted by their ranks, and where each different element begins there and among the elements.
struct Groups {
  std::vector<int64_t> order, begins, firsts;
};
/// Groups of ranks that are less than `range` above the least. `order` is left out if it is not asked for.
template <class Rank>
Groups groups_by_count(const std::vector<Rank>& ranks, Rank least, int64_t range, bool with_order) {
  Groups g;
  std::vector<int64_t> begins(static_cast<size_t>(range)), firsts(static_cast<size_t>(range));
  const auto n = std::ssize(ranks);
  for (int64_t i = n; i-- > 0;) {
    const auto k = static_cast<size_t>(ranks[static_cast<size_t>(i)] - least);
    ++begins[k], firsts[k] = i;
  }
  int64_t place = 0;
  for (size_t k = 0; k < begins.size(); ++k) {
    const int64_t count = std::exchange(begins[k], place);
    if (count > 0) g.begins.push_back(place), g.firsts.push_back(firsts[k]);
    place += count;
  }
  if (!with_order) return g;
  g.order.resize(ranks.size());
  for (int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<size_t>(ranks[static_cast<size_t>(i)] - least);
    g.order[static_cast<size_t>(begins[k]++)] = i;
  }
  return g;
}
/// Counts if there are few ranks. Otherwise a radix sort, which keeps the order of equal elements. Digits that all
/// elements share are passed over.
template <class Rank>
Groups groups_of(const std::vector<Rank>& ranks, bool with_order) {
  const auto n = std::ssize(ranks);
  Rank least = std::numeric_limits<Rank>::max(), most = 0;
  for (const Rank rank : ranks) least = std::min(least, rank), most = std::max(most, rank);
  if (n > 0 && static_cast<uint64_t>(most - least) < static_cast<uint64_t>(n))
    return groups_by_count(ranks, least, static_cast<int64_t>(most - least) + 1, with_order);
  struct Item {
    Rank rank;
    int64_t at;
  };
  constexpr size_t bits = 11, digits = size_t{1} << bits, passes = (8 * sizeof(Rank) + bits - 1) / bits;
  const auto digit = [](Rank rank, size_t pass) { return static_cast<size_t>(rank >> (bits * pass)) % digits; };
  std::vector<Item> items, next(ranks.size());
  items.reserve(next.size());
  std::vector<std::array<int64_t, digits>> counts(passes);
  for (int64_t i = 0; i < n; ++i) {
    items.push_back({ranks[static_cast<size_t>(i)], i});
    for (size_t pass = 0; pass < passes; ++pass) ++counts[pass][digit(items.back().rank, pass)];
  }
  for (size_t pass = 0; pass < passes; ++pass) {
    auto& begins = counts[pass];
    if (std::find(begins.begin(), begins.end(), n) != begins.end()) continue;
    std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), int64_t{0});
    for (const Item& item : items) next[static_cast<size_t>(begins[digit(item.rank, pass)]++)] = item;
    items.swap(next);
  }
  Groups g;
  g.order.reserve(items.size());
  for (const Item& item : items) {
    const size_t place = g.order.size();
    if (place == 0 || items[place - 1].rank != item.rank)
      g.begins.push_back(static_cast<int64_t>(place)), g.firsts.push_back(item.at);
    g.order.push_back(item.at);
  }
  return g;
}

Value unique(Interpreter& in, const Arguments& args) {
  const ArgReader a(args);
  const Array x = elements_of(in, a, "unique");
  charge(20 * x.size());
  const bool with_inverse = a.boolean("return_inverse"), with_counts = a.boolean("return_counts");
  Array different;
  Groups groups;
  with_type(x.dtype(), [&]<class T>(type_tag<T>) {
    std::vector<unsigned_of<sizeof(T)>> ranks(static_cast<size_t>(x.size()));
    std::transform(x.data<T>(), x.data<T>() + x.size(), ranks.begin(), [](T v) { return rank_of(v); });
    groups = groups_of(ranks, with_inverse);
    different = Array(x.dtype(), {static_cast<int64_t>(groups.begins.size())});
    if (!different.has_elements()) return;
    T* to = different.mutable_data<T>();
    for (const int64_t first : groups.firsts) *to++ = x.data<T>()[first];
  });
  if (!with_inverse && !with_counts) return different;
  std::vector<Value> results{different};
  Array inverse(DType::int32, x.shape()), counts(DType::int32, different.shape());
  for (size_t k = 0; k < groups.begins.size(); ++k) {
    const int64_t end = k + 1 < groups.begins.size() ? groups.begins[k + 1] : x.size();
    counts.mutable_data<int32_t>()[k] = static_cast<int32_t>(end - groups.begins[k]);
    for (int64_t i = groups.begins[k]; with_inverse && i < end; ++i)
      inverse.mutable_data<int32_t>()[groups.order[static_cast<size_t>(i)]] = static_cast<int32_t>(k);
  }
  if (with_inverse) results.emplace_back(inverse);
  if (with_counts) results.emplace_back(counts);
  return make_tuple(std::move(results));
}

}  // namespace

void bind_counting_builtins(Scope& p) {
  define(p, no_effects,
         {"nonzero(x)", "The places of the elements that are not 0, int32 [count, rank], in row-major order.",
          "nonzero(array([[0, 3], [5, 0]])).tolist()"},
         nonzero);
  define(
      p, no_effects,
      {"bincount(x, minlength = 0, weights = none)",
       "How often each integer from 0 on is in an array, as int32, or the sums of its weights, which have x's shape.",
       "bincount(array([1, 3, 1, 0]), weights = array([0.5, 2.0, 0.25, 1.0]))"},
      bincount);
  define(p, no_effects,
         {"unique(x, return_inverse = false, return_counts = false)",
          "The different elements in ascending order; on request also where each element of x is among them, and how "
          "often each is in x.",
          "unique(array([3, 1, 3]), return_counts = true)"},
         unique);
}

}  // namespace pxl
