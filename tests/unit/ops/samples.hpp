// Sample arguments for every row: by default from the kinds of its parameters, for some rows spelled out in the files
// samples_*.cpp.
#pragma once

#include <functional>
#include <map>

#include "run_graph.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl::test {

/// A sample: arrays for operands (positions of the parameters), and attributes by name.
struct Sample {
  std::vector<std::optional<Array>> operands;  ///< parallel to the row's parameters; empty for attributes
  std::map<std::string, Attr> attrs = {};
  std::vector<Array> others = {};  ///< collectives: the operands of the other members of the group
};

/// An array of numbers as float8 without a scale.
inline Array as_float8(const Array& a, DType dtype) { return to_float8(a, dtype, 0, Float8Overflow::nan); }

/// Distinct positive numbers with gaps between them, so that nothing ties and finite differences stay on one side.
inline Array numbers(DType dtype, const Shape& shape, int seed) {
  Array a(DType::float64, shape);
  double* to = a.mutable_data<double>();
  for (int64_t i = 0; i < a.size(); ++i) {
    const auto k = static_cast<double>((i * 7 + seed * 3) % 11);
    to[i] = 0.31 + 0.17 * k + 0.013 * static_cast<double>(i) + 0.029 * seed;
  }
  return is_float8(dtype) ? as_float8(a, dtype) : a.cast(dtype);
}

inline Array cycle(DType dtype, const Shape& shape, int64_t n) {
  Array a(DType::int64, shape);
  for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<int64_t>()[i] = (i * 2 + 1) % n;
  return a.cast(dtype);
}

/// A row of Samples::Rows.
#define PXL_SAMPLE(names, ...)         \
  {                                    \
    names, [&] { return __VA_ARGS__; } \
  }

/// Operands of samples, and the rows whose samples are spelled out, by subject.
class Samples {
 public:
  /// Names of ops, separated by spaces, and their sample.
  using Rows = std::vector<std::pair<std::string_view, std::function<Sample()>>>;

  /// `dtype` is the floating dtype of operands.
  Samples(const OpRow& of_row, DType of_dtype) : row(of_row), dtype(of_dtype) {}
  Sample sample() const;

 private:
  using Ints = std::vector<int64_t>;

  Rows elementwise() const;  ///< arithmetic, bits, casts, products; ops on one or several IPUs
  Rows indices() const;
  Rows learning() const;  ///< normalisation, losses, optimisers, random numbers
  Rows shapes() const;
  Rows windows() const;

  /// An element of the operands' dtype: ints take no fractions.
  Attr element(double fraction, int64_t whole) const { return is_integer(dtype) ? Attr(whole) : Attr(fraction); }
  Array x(Shape s, int seed_ = 0) const { return numbers(dtype, s, seed_); }
  DType statistics() const { return dtype == DType::float64 ? dtype : DType::float32; }
  static Array whole(Shape s, int64_t n) { return cycle(DType::int32, s, n); }
  static Array seed() { return array<uint32_t>({2}, {7, 9}); }
  static Array bools(Shape s) { return cycle(DType::boolean, s, 2 + 1).cast(DType::boolean); }
  /// Operands of the ops that take float8 and nothing else.
  Array f8(Shape s, int seed_ = 0) const { return numbers(is_float8(dtype) ? dtype : DType::float8_143, s, seed_); }
  static Array scale() { return array<int32_t>({}, {1}); }
  /// Numbers where inverse functions have them, with room for differences.
  Array within(double factor, double shift) const;
  /// Matrices with a large diagonal of different numbers: well conditioned, positive definite, with distinct values.
  Array matrices(const Shape& shape, int seed_ = 0) const;
  /// Convolutions with a bias for six channels.
  Sample biased(Sample s) const;

  const OpRow& row;
  DType dtype;
  Shape m{2, 3};
};

inline Sample sample_for(const OpRow& row, DType dtype) { return Samples(row, dtype).sample(); }

/// The sample as arguments of the row, each operand passed through `make`; those of a variadic row as one list.
template <class Make>
OpArgs arguments(const OpRow& row, const Sample& sample, Make&& make) {
  OpArgs args;
  args.values.resize(row.params.size());
  std::vector<Expr> list;
  for (size_t i = 0; i < sample.operands.size(); ++i) {
    if (!sample.operands[i]) continue;
    if (is_variadic(row))
      list.push_back(make(*sample.operands[i]));
    else
      args.values[i] = make(*sample.operands[i]);
  }
  if (is_variadic(row)) args.values[0] = list;
  for (const auto& [name, attr] : sample.attrs) args.values[param_index(row, name)] = attr;
  return args;
}

}  // namespace pxl::test
