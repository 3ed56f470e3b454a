// ONNX forms of ops that read or write at indices computed at run time, and of quantised numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "interpreter/onnx/exporter.hpp"
#include "runtime/kernels/attention/attention.hpp"

namespace pxl::onnx {

namespace {

std::string cast_to(const ExportSite& s, const std::string& value, DType from, DType to) {
  return from == to ? value : s.e.cast(value, to);
}
Ints counted(int64_t n) {
  Ints all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}
Ints wrapped_axes(const ExportSite& s) {
  Ints axes = s.c.integers("axes");
  for (int64_t& a : axes) a = normalise_axis(a, std::ssize(s.shape()));
  return axes;
}
/// The starts of a dynamic window, one per axis.
std::string starts_of(const ExportSite& s) {
  const std::string starts = s.e.cast(s.in[1], DType::int64);
  return s.shape(1).empty() ? s.e.add("Reshape", {starts, s.e.ints({1})}) : starts;
}

// Reads a window whose position is computed at run time: one Gather per axis.
Texts dynamic_slice(const ExportSite& s) {
  const Ints axes = wrapped_axes(s), sizes = s.c.integers("sizes");
  const std::string starts = axes.empty() ? "" : starts_of(s);
  std::string value = s.in[0];
  for (size_t k = 0; k < axes.size(); ++k) {
    const std::string start =
        s.e.add("Gather", {starts, s.e.initialiser("which", Array::scalar(static_cast<int64_t>(k)))});
    const std::string places = s.e.add("Add", {s.e.ints(counted(sizes[k])), start});
    value = s.e.add("Gather", {value, places}, {attribute("axis", axes[k])});
  }
  return one(value);
}

// Writes a window. The indices cover the first axes of t, up to the last axis on which the window has a start.
Texts dynamic_update(const ExportSite& s) {
  const Ints axes = wrapped_axes(s);
  const Shape& update = s.shape(2);
  if (axes.empty()) return one(s.in[2]);
  const int64_t depth = *std::max_element(axes.begin(), axes.end()) + 1;
  Shape grid(update.begin(), update.begin() + depth);
  const int64_t positions = element_count(grid);
  grid.push_back(depth);
  Array at(DType::int64, grid);
  for (int64_t i = 0; i < positions; ++i) {
    int64_t left = i;
    for (int64_t d = depth; d-- > 0; left /= update[static_cast<size_t>(d)])
      at.mutable_data<int64_t>()[i * depth + d] = left % update[static_cast<size_t>(d)];
  }
  Ints which(static_cast<size_t>(depth), std::ssize(axes));  // an axis without a start begins at 0, the last entry
  for (size_t k = 0; k < axes.size(); ++k) which[static_cast<size_t>(axes[k])] = static_cast<int64_t>(k);
  const std::string starts = s.e.add("Concat", {starts_of(s), s.e.ints({0})}, {attribute("axis", int64_t{0})});
  const std::string offset = s.e.add("Gather", {starts, s.e.ints(which)});
  return one(s.e.add("ScatterND", {s.in[0], s.e.add("Add", {s.e.initialiser("positions", at), offset}), s.in[2]}));
}

/// The indices with the place on the shared axes before each position, as ScatterND shares no axes.
std::string with_shared_axes(const ExportSite& s, const std::string& indices) {
  const auto shared = static_cast<size_t>(s.c.integer("batch_dims"));
  if (shared == 0) return indices;
  Texts all;
  for (size_t d = 0; d < shared; ++d) {
    Shape along(s.shape(1).size(), 1), places = s.shape(1);
    along[d] = s.shape(1)[d];
    places.back() = 1;
    all.push_back(s.e.add(
        "Expand", {s.e.initialiser("places", Array::from<int64_t>(along, counted(along[d]))), s.e.ints(places)}));
  }
  all.push_back(indices);
  return s.e.add("Concat", all, {attribute("axis", int64_t{-1})});
}

Texts scatter_nd(const ExportSite& s) {
  const std::string reduction = s.c.string("reduction");
  if (reduction == "max" || reduction == "min") throw NoForm{"opset 18 is the first with the reduction " + reduction};
  const std::string at = with_shared_axes(s, s.e.cast(s.in[1], DType::int64));
  return one(s.e.add("ScatterND", {s.in[0], at, s.in[2]}, {attribute("reduction", reduction)}));
}

Texts gather_form(const ExportSite& s) {
  if (s.c.boolean("zero_OOR")) throw NoForm{"zero_OOR has no form in ONNX"};
  return one(s.e.add("Gather", {s.in[0], s.in[1]}, {attribute("axis", s.axis())}));
}

Texts scatter_reduced(const ExportSite& s) {
  const std::string reduction = s.c.string("reduction");
  if (reduction != "sum" && reduction != "none") throw NoForm{"opset 18 is the first with the reduction " + reduction};
  const auto axis = static_cast<size_t>(s.axis());
  std::string at = s.in[1];
  if (s.shape(1) != s.shape(0)) {  // one index for each slice
    Ints shape(s.shape().size(), 1);
    shape[axis] = s.shape(1)[0];
    at = s.e.add("Expand", {s.e.add("Reshape", {at, s.e.ints(shape)}), s.e.ints(s.shape())});
  }
  const std::string start = s.c.has(2) ? s.in[2] : s.e.initialiser("zeros", Array::zeros(s.dtype(), s.out_shape()));
  return one(s.e.add("ScatterElements", {start, at, s.in[0]},
                     {attribute("axis", static_cast<int64_t>(axis)),
                      attribute("reduction", std::string(reduction == "sum" ? "add" : "none"))}));
}

Texts rolled(const ExportSite& s) {
  const int64_t axis = s.axis(), extent = s.shape()[static_cast<size_t>(axis)];
  if (extent == 0) return one(s.in[0]);
  const int64_t shift = (s.c.integer("shift") % extent + extent) % extent;
  const auto part = [&](int64_t begin, int64_t end) {
    return s.e.add("Slice", {s.in[0], s.e.ints({begin}), s.e.ints({end}), s.e.ints({axis})});
  };
  if (shift == 0) return one(s.in[0]);
  return one(s.e.add("Concat", {part(extent - shift, extent), part(0, extent - shift)}, {attribute("axis", axis)}));
}

/// The zero point in this dtype and in the scale's shape; empty if the op has none.
std::string zero_point(const ExportSite& s, DType dtype) {
  if (!s.c.has(2)) return "";
  const std::string zero = cast_to(s, s.in[2], s.dtype(2), dtype);
  return s.shape(2) == s.shape(1) ? zero : s.e.add("Reshape", {zero, s.e.ints(s.shape(1))});
}
std::vector<Attribute> scale_axis(const ExportSite& s) {
  if (s.c.input(1).size() == 1) return {};
  return {attribute("axis", s.axis())};
}

Texts quantize_linear(const ExportSite& s) {
  if (s.dtype() != DType::float32) throw NoForm{"opset 17 quantises float32 only; cast the operand"};
  const DType stored = s.op.outputs[0]->spec.dtype;
  if (size_of(stored) > 1) throw NoForm{"opset 17 quantises to 8 bits only"};
  std::string zero = zero_point(s, stored);
  if (zero.empty() && stored != DType::uint8) zero = s.e.initialiser("zero_point", Array::zeros(stored, s.shape(1)));
  return one(
      s.e.add("QuantizeLinear", zero.empty() ? Texts{s.in[0], s.in[1]} : Texts{s.in[0], s.in[1], zero}, scale_axis(s)));
}

Texts dequantize_linear(const ExportSite& s) {
  if (s.dtype(1) != DType::float32) throw NoForm{"opset 17 has scales of float32 only; cast the result"};
  const DType given = s.dtype(), stored = given == DType::int8 || given == DType::uint8 ? given : DType::int32;
  const std::string t = cast_to(s, s.in[0], given, stored), zero = zero_point(s, stored);
  return one(s.e.add("DequantizeLinear", zero.empty() ? Texts{t, s.in[1]} : Texts{t, s.in[1], zero}, scale_axis(s)));
}

/// Weights [rows, n] stored in 8 bits, or two per byte in 4 bits, times the scales of their rows' groups.
std::string widened(const ExportSite& s, size_t weights, size_t scale, int64_t rows) {
  const int64_t bits = s.c.integer("bits"), group = s.c.integer("group_size");
  const DType dtype = s.dtype(scale);
  std::string t = s.in[weights];
  if (bits == 4) {
    const auto byte = [&](uint8_t v) { return s.e.initialiser("bits", Array::scalar(v)); };
    const std::string low = s.e.add("Mod", {t, byte(16)}),
                      high = s.e.add("BitShift", {t, byte(4)}, {attribute("direction", std::string("RIGHT"))});
    const auto row = [&](const std::string& v) { return s.e.add("Unsqueeze", {v, s.e.ints({1})}); };
    t = s.e.add("Concat", {row(low), row(high)}, {attribute("axis", int64_t{1})});
    t = s.e.add("Reshape", {t, s.e.ints({rows, s.out_shape().back()})});
  }
  t = cast_to(s, t, s.dtype(weights), dtype);
  if (bits == 4) t = s.e.add("Sub", {t, s.e.scalar(8, dtype)});
  Ints groups = counted(rows);
  for (int64_t& r : groups) r /= group;
  return s.e.add("Mul", {t, s.e.add("Gather", {s.in[scale], s.e.ints(groups)})});
}

Texts dequantise(const ExportSite& s) { return one(widened(s, 0, 1, s.out_shape()[0])); }

Texts quantised_matmul(const ExportSite& s) {
  const int64_t k = s.shape(0).back();
  Ints groups = counted(k);
  for (int64_t& r : groups) r /= s.c.integer("group_size");
  const std::string scale = s.e.add("Gather", {s.in[2], s.e.ints(groups)}, {attribute("axis", int64_t{-1})});
  const std::string x = s.e.add("Mul", {cast_to(s, s.in[0], s.dtype(), s.dtype(2)), scale});
  return one(s.e.add("MatMul", {x, widened(s, 1, 3, k)}));
}

/// Attention with its products, a softmax, and -inf where a query reads no key.
Texts attention(const ExportSite& s) {
  const double scale =
      s.c.is_none("scale") ? 1 / std::sqrt(static_cast<double>(s.shape().back())) : s.c.number("scale");
  const AttentionShape a = attention_shape(s.shape(0), s.shape(1), s.shape(2), s.c.boolean("is_causal"), scale);
  const auto rows = [&](size_t slot, int64_t n, int64_t width) {
    return s.e.add("Reshape", {cast_to(s, s.in[slot], s.dtype(slot), s.dtype()), s.e.ints({a.outer, n, width})});
  };
  const std::string keys = s.e.add("Transpose", {rows(1, a.s, a.d)}, {attribute("perm", Ints{0, 2, 1})});
  const std::string q = s.e.add("Mul", {rows(0, a.rows(), a.d), s.constant(a.scale)});
  std::string scores = s.e.add("MatMul", {q, keys});
  if (s.c.has(3) || a.causal) {
    const auto numbers = [&](Shape shape, int64_t first, int64_t period) {
      Array values(DType::int32, shape);
      for (int64_t i = 0; i < values.size(); ++i)
        values.mutable_data<int32_t>()[i] = static_cast<int32_t>(first + i % std::max<int64_t>(1, period));
      return s.e.initialiser("positions", std::move(values));
    };
    const std::string count = s.c.has(3) ? s.e.add("Reshape", {s.in[3], s.e.ints({1, 1})}) : numbers({1, 1}, a.s, 1);
    const std::string end = a.causal ? s.e.add("Add", {count, numbers({a.rows(), 1}, 1 - a.t, a.t)}) : count;
    const std::string reads = s.e.add("Less", {numbers({1, a.s}, 0, a.s), end});
    scores = s.e.add("Where", {reads, scores, s.constant(-std::numeric_limits<double>::infinity())});
  }
  const std::string weights = s.e.add("Softmax", {scores}, {attribute("axis", int64_t{-1})});
  return one(s.e.add("Reshape", {s.e.add("MatMul", {weights, rows(2, a.s, a.e)}), s.e.ints(s.out_shape())}));
}

template <bool left>
Texts shifted(const ExportSite& s) {
  if (row(s.dtype()).kind != DTypeKind::unsigned_integer) throw NoForm{"ONNX shifts unsigned integers only"};
  return one(s.e.add("BitShift", s.in, {attribute("direction", std::string(left ? "LEFT" : "RIGHT"))}));
}

const ExportRow index_rows[] = {
    {"gather", gather_form},
    {"tied_gather", gather_form},
    {"gather_nd",
     [](const ExportSite& s) {
       return one(s.e.add("GatherND", {s.in[0], s.e.cast(s.in[1], DType::int64)},
                          {attribute("batch_dims", s.c.integer("batch_dims"))}));
     }},
    {"scatter_nd", scatter_nd},
    {"scatter_reduce", scatter_reduced},
    {"dynamic_slice", dynamic_slice},
    {"dynamic_update", dynamic_update},
    {"roll", rolled},
    {"quantize_linear", quantize_linear},
    {"dequantize_linear", dequantize_linear},
    {"dequantise", dequantise},
    {"quantised_matmul", quantised_matmul},
    {"dot_product_attention", attention},
    {"shift_left", shifted<true>},
    {"shift_right", shifted<false>},
};

}  // namespace

std::span<const ExportRow> index_forms() { return index_rows; }

}  // namespace pxl::onnx
