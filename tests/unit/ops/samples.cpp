#include "samples.hpp"

#include <fmt/format.h>

namespace pxl::test {

Array Samples::within(double factor, double shift) const {
  Array a = numbers(DType::float64, m, 0);
  for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<double>()[i] = a.number(i) * factor + shift;
  return is_float8(dtype) ? as_float8(a, dtype) : a.cast(dtype);
}

Array Samples::matrices(const Shape& shape, int seed_) const {
  Array a = numbers(DType::float64, shape, seed_);
  const int64_t n = shape.back(), rows = shape.end()[-2];
  for (int64_t i = 0; i < a.size(); ++i)
    if (i % n == i / n % rows) a.mutable_data<double>()[i] += 8 + 3 * static_cast<double>(i % n);
  return is_float8(dtype) ? as_float8(a, dtype) : a.cast(dtype);
}

Sample Samples::biased(Sample s) const {
  s.operands.resize(row.params.size());
  s.operands[param_index(row, "bias")] = x({6}, 2);
  return s;
}

Sample Samples::sample() const {
  for (const auto rows :
       {&Samples::elementwise, &Samples::indices, &Samples::learning, &Samples::shapes, &Samples::windows})
    for (const auto& [names, sample] : (this->*rows)())
      if (fmt::format(" {} ", names).find(fmt::format(" {} ", row.name)) != std::string::npos) return sample();
  // An op on several IPUs runs on one IPU, so that it has a cost there.
  if (row.params.size() > 1 && row.params[1].name == "ipus") return {{x(m), x(m, 1)}, {{"ipus", Ints{0, 0}}}};

  Sample sample;
  int seeds = 0;
  for (const Param& p : row.params) {
    std::optional<Array> operand;
    if (p.kind == ParamKind::tensor || p.kind == ParamKind::tensors) operand = x(m, seeds++);
    if (p.kind == ParamKind::index) operand = whole({2}, 2);
    sample.operands.push_back(operand);
    if (p.default_value.kind != Default::required) continue;
    if (p.kind == ParamKind::number || p.kind == ParamKind::number_or_tensor) sample.attrs[std::string(p.name)] = 0.75;
    if (p.kind == ParamKind::element) sample.attrs[std::string(p.name)] = element(0.75, 1);
    if (p.kind == ParamKind::integer) sample.attrs[std::string(p.name)] = int64_t{1};
  }
  return sample;
}

}  // namespace pxl::test
