// Prints arrays in NumPy's form. Digits come from std::to_chars (shortest round-trip, or correctly rounded at eight
// places); column widths, exponents, summarising and line breaks follow numpy.array2string.
#include "runtime/tensor/print.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "runtime/tensor/decimal.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {
namespace {

constexpr int precision = 8;  ///< NumPy's default number of fractional digits

/// Formats an element to the column's width.
class Formatter {
 public:
  virtual ~Formatter() = default;
  virtual std::string operator()(int64_t i) const = 0;
};

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

class BoolFormatter : public Formatter {
 public:
  explicit BoolFormatter(const Array& a) : data_(a.data<bool>()) {}
  std::string operator()(int64_t i) const override { return data_[i] ? " True" : "False"; }

 private:
  const bool* data_;
};

template <class T>
class IntFormatter : public Formatter {
 public:
  IntFormatter(const Array& a, const std::vector<int64_t>& shown) : data_(a.data<T>()) {
    for (int64_t i : shown) width_ = std::max(width_, std::to_string(data_[i]).size());
  }
  std::string operator()(int64_t i) const override { return padded(std::to_string(data_[i]), width_); }

 private:
  const T* data_;
  size_t width_ = 0;
};

// max / min as NumPy computes it: in the array's precision.
template <class T>
double ratio(double high, double low) {
  if constexpr (std::is_same_v<T, double>) return high / low;
  auto quotient = static_cast<float>(high) / static_cast<float>(low);
  if constexpr (is_narrow_v<T>) return static_cast<double>(static_cast<float>(T(quotient)));
  return static_cast<double>(quotient);
}

template <class T>
class FloatFormatter : public Formatter {
 public:
  FloatFormatter(const Array& a, const std::vector<int64_t>& shown) : data_(a.data<T>()) {
    choose_form(shown);
    bool any_special = false, negative_infinity = false;
    for (int64_t i : shown) {
      double v = widened(data_[i]);
      if (!std::isfinite(v)) {
        any_special = true;
        negative_infinity |= v == -std::numeric_limits<double>::infinity();
        continue;
      }
      Decimal d = digits(data_[i], 0);
      left_ = std::max(left_, d.whole.size());
      right_ = std::max(right_, d.fraction.size());
      exponent_ = std::max(exponent_, d.exponent.size());
    }
    // All fractions in exponent form have the same number of digits, and the exponent is in the right column.
    size_t right = scientific_ ? right_ + exponent_ : right_;
    size_t widest_special = any_special ? (negative_infinity ? 4 : 3) : 0;
    if (widest_special > left_ + right + 1) left_ = widest_special - right - 1;
    width_ = left_ + right + 1;
  }

  std::string operator()(int64_t i) const override {
    double v = widened(data_[i]);
    if (std::isnan(v)) return padded("nan", width_);
    if (std::isinf(v)) return padded(v < 0 ? "-inf" : "inf", width_);
    // NumPy pads short fractions with the value's next digits, not with zeros.
    Decimal d = digits(data_[i], static_cast<int>(right_));
    std::string out = padded(d.whole, left_) + "." + d.fraction;
    out.append(right_ - d.fraction.size(), scientific_ ? '0' : ' ');
    if (!scientific_) return out;
    // All exponents are as wide as the longest: e+005 with e+100.
    std::string sign = d.exponent.substr(0, 2), rest = d.exponent.substr(2);
    return out + sign + std::string(exponent_ - d.exponent.size(), '0') + rest;
  }

 private:
  static double widened(T v) {
    if constexpr (is_narrow_v<T>)
      return static_cast<double>(static_cast<float>(v));
    else
      return static_cast<double>(v);
  }

  Decimal digits(T value, int least) const {
    return scientific_ ? scientific_digits(value, least, precision) : positional_digits(value, precision);
  }

  void choose_form(const std::vector<int64_t>& shown) {
    double high = 0, low = std::numeric_limits<double>::infinity();
    for (int64_t i : shown) {
      double v = std::fabs(widened(data_[i]));
      if (!std::isfinite(v) || v == 0) continue;
      high = std::max(high, v), low = std::min(low, v);
    }
    scientific_ = high > 0 && (high >= 1e8 || low < 1e-4 || ratio<T>(high, low) > 1000.0);
  }

  const T* data_;
  bool scientific_ = false;
  size_t left_ = 0, right_ = 0, exponent_ = 0, width_ = 0;
};

std::unique_ptr<Formatter> formatter_for(const Array& a, const std::vector<int64_t>& shown) {
  return with_type(a.dtype(), [&]<class T>(type_tag<T>) -> std::unique_ptr<Formatter> {
    if constexpr (std::is_same_v<T, bool>)
      return std::make_unique<BoolFormatter>(a);
    else if constexpr (std::is_integral_v<T>)
      return std::make_unique<IntFormatter<T>>(a, shown);
    else
      return std::make_unique<FloatFormatter<T>>(a, shown);
  });
}

class Printer {
 public:
  Printer(const Array& a, const PrintOptions& options)
      : array_(a),
        options_(options),
        edge_(std::max<int64_t>(1, options.edge_items)),
        strides_(strides_of(a.shape())),
        summarise_(a.size() > options.threshold) {
    std::vector<int64_t> shown;
    collect(0, 0, shown);
    format_ = formatter_for(a, shown);
    separator_end_ = options.separator.find_last_not_of(' ') + 1;
  }

  std::string print() const { return block(0, 0, 1, options_.line_width); }

 private:
  bool cut(int64_t extent) const { return summarise_ && 2 * edge_ < extent; }

  // Calls f for the indices along an axis that are shown; the ellipsis follows the first `edge_items` of a summarised
  // axis.
  template <class F>
  void for_shown(int64_t extent, F f) const {
    for (int64_t i = 0; i < extent; ++i) {
      if (cut(extent) && i == edge_) i = extent - edge_;
      f(i);
    }
  }

  // Recurses once per axis; arrays have at most max_rank axes.
  void collect(size_t axis, int64_t offset, std::vector<int64_t>& shown) const {
    if (axis == strides_.size()) return shown.push_back(offset);
    for_shown(array_.shape()[axis], [&](int64_t i) { collect(axis + 1, offset + i * strides_[axis], shown); });
  }

  std::string block(size_t axis, int64_t offset, size_t indent, int width) const {
    return axis + 1 == strides_.size() ? row(axis, offset, indent, width) : nested(axis, offset, indent, width);
  }

  std::string row(size_t axis, int64_t offset, size_t indent, int width) const {
    int64_t extent = array_.shape()[axis];
    const int room = width - static_cast<int>(std::max<size_t>(separator_end_, 1));
    std::string out, line(indent, ' ');
    auto extend = [&](const std::string& word) {
      if (static_cast<int>(line.size() + word.size()) > room && line.size() > indent) {
        out.append(line, 0, line.find_last_not_of(' ') + 1) += '\n';
        line.assign(indent, ' ');
      }
      line += word;
    };
    for_shown(extent, [&](int64_t i) {
      if (cut(extent) && i == extent - edge_) extend("..."), line += options_.separator;
      extend((*format_)(offset + i));
      if (i + 1 < extent) line += options_.separator;
    });
    out += line;
    out.replace(0, indent, 1, '[');
    return out += ']';
  }

  std::string nested(size_t axis, int64_t offset, size_t indent, int width) const {
    int64_t extent = array_.shape()[axis];
    const std::string between = std::string(options_.separator.substr(0, separator_end_)) +
                                std::string(strides_.size() - axis - 1, '\n') + std::string(indent, ' ');
    std::string out = "[";
    for_shown(extent, [&](int64_t i) {
      if (cut(extent) && i == extent - edge_) out += "..." + between;
      out += block(axis + 1, offset + i * strides_[axis], indent + 1, width - 1);
      if (i + 1 < extent) out += between;
    });
    return out + "]";
  }

  const Array& array_;
  const PrintOptions& options_;
  int64_t edge_;
  Shape strides_;
  bool summarise_;
  size_t separator_end_ = 0;  ///< length of the separator without trailing spaces
  std::unique_ptr<Formatter> format_;
};

/// The elements that a summary of the array shows. An axis with hidden elements contributes one of them.
Array shown_elements(const Array& a, int64_t edge) {
  const Shape strides = strides_of(a.shape());
  const auto cut = [&](int64_t extent) { return 2 * edge < extent; };
  Shape shape = a.shape();
  for (int64_t& extent : shape) extent = cut(extent) ? 2 * edge + 1 : extent;
  Array out(a.dtype(), shape);
  const auto width = static_cast<int64_t>(size_of(a.dtype()));
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t at = 0, rest = i;
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
      const int64_t c = rest % shape[axis], extent = a.shape()[axis];
      at += (c > edge && cut(extent) ? extent - (shape[axis] - c) : c) * strides[axis];
    }
    std::memcpy(out.mutable_raw() + i * width, a.raw() + at * width, static_cast<size_t>(width));
  }
  return out;
}

std::string scalar_text(const Array& a) {
  return with_type(a.dtype(), [&]<class T>(type_tag<T>) -> std::string {
    T value = *a.data<T>();
    if constexpr (std::is_same_v<T, bool>)
      return value ? "True" : "False";
    else if constexpr (std::is_integral_v<T>)
      return std::to_string(value);
    else
      return number_text(value);
  });
}

}  // namespace

std::string to_text(const Array& array, const PrintOptions& options) {
  if (array.size() == 0) return "[]";
  if (!array.has_elements()) return "<" + text(array.spec()) + ">";
  if (is_float8(array.dtype())) {
    if (array.size() <= options.threshold) return to_text(from_float8(array, DType::float32, 0), options);
    PrintOptions summarised = options;
    summarised.threshold = -1;
    return to_text(from_float8(shown_elements(array, std::max<int64_t>(1, options.edge_items)), DType::float32, 0),
                   summarised);
  }
  if (array.rank() == 0) return scalar_text(array);
  return Printer(array, options).print();
}

}  // namespace pxl
