// See oracle.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "oracle.hpp"
#include "runtime/base/threads/subnormals.hpp"
#include "runtime/op/element_order.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl::test {

namespace {

double precision(DType dtype) {
  if (is_floating(dtype)) return std::ldexp(1.0, 1 - pxl::row(dtype).digits);
  return dtype == DType::float8_143 || dtype == DType::float8_e4m3fn ? 0x1p-3 : 0x1p-2;
}
double smallest(DType dtype) {
  if (dtype == DType::float16) return 0x1p-24;                  // subnormals are kept
  if (compute_dtype(dtype) == DType::float32) return 0x1p-119;  // factors of results flush to 0
  return 0x1p-1022;
}

double at(const Array& a, int64_t i) {
  return is_float8(a.dtype()) ? static_cast<double>(float8_value(a.dtype(), static_cast<uint8_t>(a.raw()[i])))
                              : a.number(i);
}
double largest(const Array& a) {
  double most = 0;
  for (int64_t i = 0; i < a.size(); ++i)
    if (const double v = std::fabs(at(a, i)); std::isfinite(v)) most = std::max(most, v);
  return most;
}

/// The operands' properties that bound a result's error.
struct Operands {
  double scale = 1;       ///< the product of their largest elements
  bool infinite = false;  ///< some element is NaN, infinite, or such that its exponential or square is
};

std::string difference(const OpRow& row, std::string_view what, const Array& kernel, const Array& definition,
                       const Operands& operands) {
  const DType dtype = kernel.dtype();
  const Tolerance t = tolerance_of(row);
  const double scale = std::max(operands.scale, largest(definition));
  const double unit = precision(dtype);
  const bool bits = row.pattern == Pattern::movement || (!is_floating(dtype) && !is_float8(dtype));
  for (int64_t i = 0; i < kernel.size(); ++i) {
    bool same = false;
    if (bits) {
      const size_t width = size_of(dtype);
      same = std::memcmp(kernel.raw() + static_cast<size_t>(i) * width,
                         definition.raw() + static_cast<size_t>(i) * width, width) == 0;
    } else {
      const double k = at(kernel, i), d = at(definition, i);
      if (std::isnan(k) || std::isnan(d) || std::isinf(k) || std::isinf(d))
        same = (std::isnan(k) && std::isnan(d)) || k == d ||
               (t.infinite_times_zero && operands.infinite && !std::isfinite(k));
      else
        same =
            std::fabs(k - d) <= (std::max(std::fabs(d), smallest(dtype) / unit) * t.ulps + scale * t.of_scale) * unit &&
            (k != 0 || d != 0 || t.infinite_times_zero || std::signbit(k) == std::signbit(d));
    }
    if (!same)
      return fmt::format("{} of {}, element {}: kernel {}, definition {}", what, text(kernel.spec()), i,
                         number_text(at(kernel, i)), number_text(at(definition, i)));
  }
  return {};
}

/// Counts the elements of a float16 result, and those that differ.
void count_halves(Verdict& v, const Array& kernel, const Array& definition) {
  if (kernel.dtype() != DType::float16) return;
  v.halves += kernel.size();
  for (int64_t i = 0; i < kernel.size(); ++i)
    v.other_halves += at(kernel, i) != at(definition, i) && !std::isnan(at(kernel, i));
}

struct Outcome {
  std::vector<Array> out, in;
  std::string error = {};
};

// Outputs that alias an operand are that operand's memory where `in_place`.
Outcome run(const Kernel& kernel, const OpContext& site, const std::vector<Array>& given, bool in_place) {
  Outcome o;
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (const Array& a : given) o.in.push_back(a.clone());
  for (size_t i = 0; i < given.size(); ++i) from.push_back(site.has(i) ? o.in[i].mutable_raw() : nullptr);
  for (const TensorSpec& spec : site.out) {
    o.out.push_back(Array::zeros(spec.dtype, spec.shape));
    std::memset(o.out.back().mutable_raw(), 0x5a, static_cast<size_t>(o.out.back().bytes()));
    to.push_back(o.out.back().mutable_raw());
  }
  if (in_place) to[0] = const_cast<std::byte*>(from[0]);
  const FlushSubnormals flush;
  try {
    kernel(Buffers{from.data(), to.data()});
  } catch (const Error& e) {
    o.error = e.first().message;
    for (const std::string& note : e.first().notes) o.error += "; " + note;
  } catch (const std::exception& e) {
    o.error = fmt::format("an exception: {}", e.what());
  }
  if (in_place)
    o.out[0] =
        Array::wrap(site.out[0].dtype, site.out[0].shape, {o.in[0].mutable_raw(), [keep = o.in[0]](std::byte*) {}});
  return o;
}

std::string described(const Sample& sample, const Attributes& attrs) {
  std::string all;
  for (const auto& a : sample.operands)
    if (a) all += fmt::format("{} {}; ", text(a->spec()), to_text(*a));
  for (const Attr& a : attrs) {
    if (const auto* i = std::get_if<int64_t>(&a)) all += fmt::format("{}, ", *i);
    if (const auto* d = std::get_if<double>(&a)) all += fmt::format("{}, ", *d);
    if (const auto* b = std::get_if<bool>(&a)) all += fmt::format("{}, ", *b);
    if (const auto* s = std::get_if<std::string>(&a)) all += *s + ", ";
    if (const auto* l = std::get_if<std::vector<int64_t>>(&a)) all += bracket_text(*l) + ", ";
    if (const auto* l = std::get_if<std::vector<double>>(&a)) all += fmt::format("[{}], ", fmt::join(*l, " "));
    if (const auto* t = std::get_if<DType>(&a)) all += fmt::format("{}, ", name(*t));
  }
  return all;
}

/// The element order that a kernel's properties imply.
ElementOrder element_order_of(const Kernel& kernel) {
  if (kernel.result_parts()) return ElementOrder::in_parts;
  if (!kernel.is_fusion_producer()) return ElementOrder::whole;
  if (!kernel.is_fusion_consumer()) return ElementOrder::in_order;
  return kernel.phases().size() == 1 && kernel.workspace().per_call == 0 ? ElementOrder::elementwise
                                                                         : ElementOrder::prepared;
}

}  // namespace

Verdict compare(const OpRow& row, const Sample& sample) {
  Verdict v;
  // The op in a graph: defaults filled in, specs inferred, as a program has it.
  Ir ir;
  if (const auto group = sample.attrs.find("group"); group != sample.attrs.end())
    ir.replication_factor = static_cast<int>(std::get<std::vector<int64_t>>(group->second).size());
  Graph& g = ir.create_graph("f");
  GraphOpBuilder builder(g);
  try {
    builder.emit(row, arguments(row, sample, [&](const Array& a) { return builder.of(g.add_input(a.spec(), "x")); }));
  } catch (const Error&) {
    return v;
  }
  const Op& op = *g.ops().back();
  // Operands that are cast first are those of another op.
  for (const Tensor* t : op.inputs)
    if (t && t->producer) return v;
  v.taken = true;
  const OpContextStorage storage(op);
  const OpContext& site = storage.site;
  v.attrs = op.attrs;
  std::vector<Array> given(op.inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < given.size(); ++i)
    if (op.inputs[i]) {
      while (!sample.operands[next]) ++next;
      given[i] = *sample.operands[next++];
    }

  // The operands that a kernel gets besides those of one replica.
  const auto is_given = [&](size_t i) { return i >= op.inputs.size() || op.inputs[i]; };
  if (row.exchange == Exchange::members) given.insert(given.end(), sample.others.begin(), sample.others.end());
  if (row.exchange == Exchange::replica)
    given.push_back(array<int32_t>({2}, {ir.replication_factor - 1, ir.replication_factor}));

  Operands operands;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!is_given(i) || is_integer(given[i].dtype())) continue;
    operands.scale *= std::max(1.0, largest(given[i]));
    for (int64_t e = 0; e < given[i].size(); ++e)
      operands.infinite = operands.infinite || !(std::fabs(at(given[i], e)) < 80);
  }
  // Float64 operands are summed in float64: the error grows with the terms.
  if (!op.inputs.empty() && op.inputs[0] && op.outputs[0]->spec.dtype == DType::float64 &&
      row.pattern != Pattern::elementwise)
    operands.scale *= 1 + static_cast<double>(given[0].size()) / 16;
  const Outcome definition = run(definition_kernel(site), site, given, false);
  const auto check = [&](bool in_place) {
    Kernel fast;
    try {
      fast = kernel_of(site);
    } catch (const Error& e) {
      v.difference = fmt::format("inference takes the operands, the kernel does not: {}", e.what());
      return;
    }
    if (const ElementOrder says = element_order_of(site), has = element_order_of(fast);
        says != has && site.out[0].size() > 0) {
      v.difference = fmt::format("order of elements: row {}, kernel {}", static_cast<int>(says), static_cast<int>(has));
      return;
    }
    const Outcome kernel = run(fast, site, given, in_place);
    if (kernel.error != definition.error) {
      v.difference = fmt::format("errors: kernel `{}`, definition `{}`", kernel.error, definition.error);
      return;
    }
    if (!kernel.error.empty()) return;
    for (size_t i = 0; i < kernel.out.size() && v.difference.empty(); ++i) {
      v.difference = difference(row, fmt::format("result {}", i), kernel.out[i], definition.out[i], operands);
      if (!in_place) count_halves(v, kernel.out[i], definition.out[i]);
    }
    for (size_t i = 0; i < given.size() && v.difference.empty(); ++i)
      if (is_given(i) && !(in_place && i == 0))
        v.difference = difference(row, fmt::format("operand {}", i), kernel.in[i], definition.in[i], {});
    if (!v.difference.empty() && in_place) v.difference += ", in place";
  };
  check(false);
  const bool can = row.inplace_ok && site.in.size() > 0 && site.has(0) && site.input(0).dtype == site.out[0].dtype &&
                   site.input(0).shape == site.out[0].shape;
  if (v.difference.empty() && ((row.alias == 0 && row.modifies != 0) || can)) check(true);
  if (!v.difference.empty()) v.difference += "\n    " + described(sample, op.attrs);
  return v;
}

}  // namespace pxl::test
