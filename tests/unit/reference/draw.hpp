// Random arguments for every row: operands of many shapes and values, attributes from the row's parameters. Samples
// that the row's inference refuses are drawn again.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "../ops/samples.hpp"

namespace pxl::test {

using Ints = std::vector<int64_t>;

class Draw;
/// The function that draws a row's operands and attributes, where the parameters alone do not say it.
using Families = std::map<std::string_view, std::function<Sample(Draw&)>>;

/// Draws for one row and dtype. `special` sprinkles infinities, NaN, -0 and extremes among the values.
class Draw {
 public:
  Draw(const OpRow& of_row, DType of_dtype, uint64_t seed, bool with_special)
      : row(of_row), dtype(of_dtype), special(with_special), rng(seed) {}

  Sample sample() {
    const auto found = families().find(row.name);
    Sample s = found != families().end() ? found->second(*this) : by_parameters();
    for (const Param& p : row.params)
      if (p.kind == ParamKind::boolean && !row.side_effect && coin()) s.attrs.try_emplace(std::string(p.name), coin());
    return s;
  }

  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(rng); }
  bool coin() { return below(2) == 1; }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng); }
  template <class T>
  T one_of(std::vector<T> choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }

  /// Mostly small extents, seldom none, seldom many.
  /// An attribute of kind `element`: of ints an int that the dtype has, at times one that no double is.
  Attr element(std::vector<double> choices) {
    const double value = one_of(std::move(choices));
    if (!is_integer(dtype)) return value;
    if (size_of(dtype) == sizeof(int64_t) && coin()) return int64_t{9007199254740993};
    const Array held = Array::scalar(value).cast(dtype);
    return dtype == DType::uint64 ? static_cast<int64_t>(held.data<uint64_t>()[0]) : held.integer(0);
  }
  int64_t extent() { return one_of<int64_t>({0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 17}); }
  int64_t some() { return one_of<int64_t>({1, 1, 2, 2, 3, 4, 5, 7, 9}); }
  Shape shape(int64_t least = 0, int64_t most = 4) {
    if (least <= 1 && most >= 1 && below(12) == 0) return {between(200, 1100)};
    Shape s(static_cast<size_t>(between(least, most)));
    const bool empty = below(10) == 0;
    for (int64_t& e : s) e = empty ? extent() : some();
    return s;
  }
  /// A shape that broadcasts to another.
  Shape narrower(const Shape& s) {
    Shape n(s.begin() + below(static_cast<int64_t>(s.size()) + 1), s.end());
    for (int64_t& e : n)
      if (below(3) == 0) e = 1;
    return n;
  }
  int64_t axis(size_t rank) { return between(-static_cast<int64_t>(rank), static_cast<int64_t>(rank) - 1); }
  Attr axes(size_t rank) {
    if (rank == 0 || coin()) return {};
    Ints all;
    for (size_t i = 0; i < rank; ++i)
      if (coin()) all.push_back(static_cast<int64_t>(i) - (coin() ? static_cast<int64_t>(rank) : 0));
    return all;
  }
  int64_t at(const Shape& s, int64_t axis_) {
    return s[static_cast<size_t>(axis_ < 0 ? axis_ + static_cast<int64_t>(s.size()) : axis_)];
  }

  Array values(DType d, const Shape& s) {
    Array a(is_float8(d) ? DType::float64 : d, s);
    const double scale = one_of<double>({0.3, 1, 1, 4, 30});
    std::normal_distribution<double> normal(0, scale);
    with_type(a.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = a.mutable_data<T>();
      for (int64_t i = 0; i < a.size(); ++i) {
        if constexpr (std::is_same_v<T, bool>)
          to[i] = coin();
        else if constexpr (std::is_integral_v<T>)
          to[i] = special && below(3) == 0
                      ? one_of<T>({std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0), T(1),
                                   static_cast<T>(-1), static_cast<T>(std::numeric_limits<T>::max() / 2 + 1)})
                      : static_cast<T>(std::is_signed_v<T> ? between(-9, 9) : below(18));
        else {
          const double inf = std::numeric_limits<double>::infinity();
          double v = special && below(4) == 0
                         ? one_of<double>({inf, -inf, std::nan(""), -0.0, 0.0, 1, -1, 700, -700, 1e-30, 100, -100})
                     : below(6) == 0 ? static_cast<double>(between(-3, 3))
                                     : normal(rng);
          if (positive_only) v = std::fabs(v) + 0.05;
          if constexpr (is_narrow_v<T>)
            to[i] = T(static_cast<float>(v));
          else
            to[i] = static_cast<T>(v);
        }
      }
    });
    return is_float8(d) ? as_float8(a, d) : a;
  }
  Array values(const Shape& s) { return values(dtype, s); }
  Array positive(DType d, const Shape& s) {
    Array a(DType::float64, s);
    for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<double>()[i] = uniform(0.05, 2);
    return a.cast(d);
  }
  DType floating() { return one_of<DType>({DType::float16, DType::bfloat16, DType::float32, DType::float64}); }
  /// Indices in 0..n-1, of any integer dtype; seldom one out of range.
  Array indices(const Shape& s, int64_t n) {
    Array a(DType::int64, s);
    for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<int64_t>()[i] = n > 0 ? below(n) : 0;
    if (a.size() > 0 && below(15) == 0) a.mutable_data<int64_t>()[below(a.size())] = one_of<int64_t>({-1, n, n + 3});
    return a.cast(
        one_of<DType>({DType::int32, DType::int64, DType::uint32, DType::int16, DType::uint8, DType::uint64}));
  }
  Array seed() { return array<uint32_t>({2}, {static_cast<uint32_t>(rng()), static_cast<uint32_t>(rng())}); }
  Array number(double v) { return Array::full(floating(), coin() ? Shape{} : Shape{1}, v); }
  /// A number as an attribute, or as an operand.
  void factor(Sample& s, const char* param, double v) {
    if (coin())
      s.attrs[param] = v;
    else
      operand(s, param) = number(v);
  }
  std::optional<Array>& operand(Sample& s, std::string_view param) {
    s.operands.resize(row.params.size());
    return s.operands[param_index(row, param)];
  }

  const OpRow& row;
  DType dtype;
  bool special;
  bool positive_only = false;  ///< floats, for functions that are defined there
  std::mt19937_64 rng;

 private:
  /// One group, with operands for its other members.
  void draw_group(Sample& s, const Shape& common) {
    const int64_t members = between(1, 9);
    s.attrs["group"] = Ints(static_cast<size_t>(members), 0);
    for (int64_t m = 1; m < members; ++m) s.others.push_back(values(common));
    for (const Param& p : row.params)
      if (p.name == "root") s.attrs["root"] = below(members);
  }
  Sample by_parameters() {
    Sample s;
    const Shape common = shape();
    for (const Param& p : row.params) {
      std::optional<Array> a;
      if (p.kind == ParamKind::tensor) a = values(common);
      s.operands.push_back(a);
      if (p.kind == ParamKind::boolean && coin()) s.attrs[std::string(p.name)] = coin();
      if (p.kind == ParamKind::group) draw_group(s, common);
      if (p.kind == ParamKind::string && p.name == "op")
        s.attrs["op"] = one_of<std::string>({"add", "mean", "mul", "min", "max", "and", "or", "square_add"});
      if (p.kind == ParamKind::axes) s.attrs[std::string(p.name)] = axes(common.size());
      if (p.kind == ParamKind::integer && p.name == "axis" && !common.empty())
        s.attrs[std::string(p.name)] = axis(common.size());
    }
    return s;
  }
  static const Families& families();
};

/// The rows of draw_windows.cpp and draw_indices.cpp.
void add_window_draws(Families& to);
void add_index_draws(Families& to);

/// The extents `leading`, then `spatial`.
inline Shape concatenated(Shape leading, const Shape& spatial) {
  leading.insert(leading.end(), spatial.begin(), spatial.end());
  return leading;
}

}  // namespace pxl::test
