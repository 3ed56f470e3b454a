// ONNX forms of arithmetic, reductions, matrix products and normalisations.
#include <cmath>
#include <numbers>

#include "interpreter/onnx/exporter.hpp"

namespace pxl::onnx {

namespace {

/// Numeric attributes that have one name in pxl and in ONNX.
template <class... N>
std::vector<Attribute> numbers(const ExportSite& s, N... names) {
  return {attribute(names, s.c.number(names))...};
}

Texts reduced(const ExportSite& s, const char* op) {
  std::vector<Attribute> a{attribute("keepdims", int64_t{s.c.boolean("keepdims")})};
  if (std::string_view(op) == "ReduceSum") return one(s.e.add(op, {s.in[0], s.e.ints(s.axes())}, a));
  a.push_back(attribute("axes", s.axes()));
  return one(s.e.add(op, {s.in[0]}, a));
}
template <int which>
Texts reduce_form(const ExportSite& s) {
  static constexpr const char* ops[] = {"ReduceSum",    "ReduceMean",     "ReduceMax", "ReduceMin",
                                        "ReduceProd",   "ReduceL1",       "ReduceL2",  "ReduceSumSquare",
                                        "ReduceLogSum", "ReduceLogSumExp"};
  return reduced(s, ops[which]);
}
/// Squared deviations from the mean are averaged.
template <bool root>
Texts variance_form(const ExportSite& s) {
  const std::vector<int64_t> axes = s.axes();
  const std::string mean =
      s.e.add("ReduceMean", {s.in[0]}, {attribute("keepdims", int64_t{1}), attribute("axes", axes)});
  const std::string d = s.e.add("Sub", {s.in[0], mean});
  const std::string y = s.e.add("ReduceMean", {s.e.add("Mul", {d, d})},
                                {attribute("keepdims", int64_t{s.c.boolean("keepdims")}), attribute("axes", axes)});
  return one(root ? s.e.add("Sqrt", {y}) : y);
}
template <bool largest>
Texts arg_form(const ExportSite& s) {
  return as_int32(s, s.e.add(largest ? "ArgMax" : "ArgMin", {s.in[0]},
                             {attribute("axis", s.axis()), attribute("keepdims", int64_t{s.c.boolean("keepdims")})}));
}
Texts same(const ExportSite& s) { return one(s.in[0]); }

/// Ints are whole: ONNX rounds floats only.
template <int which>
Texts rounded(const ExportSite& s) {
  static constexpr const char* ops[] = {"Floor", "Ceil", "Round"};
  return is_floating(s.dtype()) ? one(s.e.add(ops[which], s.in)) : same(s);
}

template <int which>
Texts logical(const ExportSite& s) {
  static constexpr const char* ops[] = {"And", "Or", "Xor", "Not"};
  if (s.dtype() != DType::boolean) throw NoForm{"opset 18 is the first with the bits of integers"};
  return one(s.e.add(ops[which], s.in));
}

/// Steps of products of 1, 2, 4, ... elements: each multiplies by the products that end where the own one begins. Opset
/// 17 has no running product.
Texts running_product(const ExportSite& s) {
  const int64_t axis = s.axis(), n = s.shape()[static_cast<size_t>(axis)];
  const bool reverse = s.c.boolean("reverse");
  std::string y = s.in[0];
  const auto part = [&](int64_t begin, int64_t size) {
    return s.e.add("Slice", {y, s.e.ints({begin}), s.e.ints({begin + size}), s.e.ints({axis})});
  };
  const auto joined = [&](const std::string& moved, const std::string& edge) {
    return s.e.add("Concat", reverse ? Texts{moved, edge} : Texts{edge, moved}, {attribute("axis", axis)});
  };
  if (n == 0) return one(s.e.add("Identity", {y}));
  if (s.c.boolean("exclusive")) {
    Shape edge = s.shape();
    edge[static_cast<size_t>(axis)] = 1;
    y = joined(part(reverse ? 1 : 0, n - 1), s.e.initialiser("ones", Array::full(s.dtype(), edge, 1)));
  }
  for (int64_t by = 1; by < n; by *= 2)
    y = joined(s.e.add("Mul", {part(0, n - by), part(by, n - by)}), part(reverse ? n - by : 0, by));
  return one(y == s.in[0] ? s.e.add("Identity", {y}) : y);
}

bool whole(DType d) { return !is_floating(d); }

/// ONNX's DFT needs an axis in front of that of the numbers, and divides the inverse by their count. Its inverse knows
/// no halves of spectra: the numbers that stand for two are doubled, and the real parts of the result are taken.
Texts transformed(const ExportSite& s) {
  const int64_t real = s.c.integer("real");
  const bool inverse = s.c.boolean("inverse"), of_real = real > 0 && !inverse, to_real = real > 0 && inverse;
  const int64_t rank = std::ssize(s.shape()) + (of_real ? 1 : 0), axis = s.c.integer("axis");
  const int64_t n = real > 0 ? real : s.shape()[static_cast<size_t>(axis)];
  if (n == 0) throw NoForm{"ONNX's DFT is of one number or more"};
  std::string t = s.in[0];
  if (of_real) t = s.e.add("Unsqueeze", {t, s.e.ints({rank - 1})});
  if (to_real) {
    Shape along(static_cast<size_t>(rank - axis), 1);
    along[0] = n / 2 + 1;
    Array shares(DType::float64, along);
    for (int64_t k = 0; k <= n / 2; ++k) shares.mutable_data<double>()[k] = k == 0 || 2 * k == n ? 1 : 2;
    t = s.e.add("Mul", {t, s.e.initialiser("shares", shares.cast(s.dtype()))});
  }
  if (axis == 0) t = s.e.add("Unsqueeze", {t, s.e.ints({0})});
  std::string y = s.e.add("DFT", to_real ? Texts{t, s.e.initialiser("length", Array::scalar<int64_t>(n))} : Texts{t},
                          {attribute("axis", std::max<int64_t>(axis, 1)), attribute("inverse", int64_t{inverse}),
                           attribute("onesided", int64_t{of_real})});
  if (inverse) y = s.e.add("Mul", {y, s.constant(static_cast<double>(n))});
  if (to_real)
    y = s.e.add("Gather", {y, s.e.initialiser("part", Array::scalar<int64_t>(0))}, {attribute("axis", int64_t{-1})});
  return one(axis == 0 ? s.e.add("Squeeze", {y, s.e.ints({0})}) : y);
}

const Carrier narrow_as_int32[] = {{{DType::int16, DType::uint16}, DType::int32}};
const Carrier int16_as_int32[] = {{{DType::int16}, DType::int32}};
const Carrier powers_as_wider[] = {shorts_as_int32[0], {{DType::uint32}, DType::int64}};
const Carrier negations_as_wider[] = {shorts_as_int32[0], {{DType::uint32, DType::uint64}, DType::int64}};
const Carrier others_as_float32[] = {{{DType::boolean, DType::int8, DType::uint8, DType::int16, DType::uint16,
                                       DType::int32, DType::uint32, DType::int64, DType::uint64, DType::float16},
                                      DType::float32}};

const ExportRow arithmetic_rows[] = {
    {"square",
     [](const ExportSite& s) {
       return one(s.e.add("Mul", {s.in[0], s.in[0]}));
     }},
    {"rsqrt", [](const ExportSite& s) { return one(s.e.add("Reciprocal", {s.e.add("Sqrt", {s.in[0]})})); }},
    {"expm1",
     [](const ExportSite& s) {
       return one(s.e.add("Sub", {s.e.add("Exp", {s.in[0]}), s.constant(1)}));
     }},
    {"log1p",
     [](const ExportSite& s) {
       return one(s.e.add("Log", {s.e.add("Add", {s.in[0], s.constant(1)})}));
     }},
    {"gelu",
     [](const ExportSite& s) {
       const std::string cube = s.e.add("Mul", {s.e.add("Mul", {s.in[0], s.in[0]}), s.in[0]});
       const std::string sum = s.e.add("Add", {s.in[0], s.e.add("Mul", {cube, s.constant(0.044715)})});
       const std::string t = s.e.add("Tanh", {s.e.add("Mul", {sum, s.constant(0.7978845608028654)})});
       const std::string half = s.e.add("Mul", {s.in[0], s.constant(0.5)});
       return one(s.e.add("Mul", {half, s.e.add("Add", {t, s.constant(1)})}));
     }},
    {"geluerf",
     [](const ExportSite& s) {
       const std::string e = s.e.add("Erf", {s.e.add("Mul", {s.in[0], s.constant(1 / std::numbers::sqrt2)})});
       const std::string half = s.e.add("Mul", {s.in[0], s.constant(0.5)});
       return one(s.e.add("Mul", {half, s.e.add("Add", {e, s.constant(1)})}));
     }},
    {"swish",
     [](const ExportSite& s) {
       return one(s.e.add("Mul", {s.in[0], s.e.add("Sigmoid", {s.in[0]})}));
     }},
    {"clip",
     [](const ExportSite& s) {
       const auto bound = [&](const char* param) {
         return std::isinf(s.c.number(param)) ? std::string() : s.element(param);
       };
       return one(s.e.add("Clip", {s.in[0], bound("min"), bound("max")}));
     }},
    {"cast", [](const ExportSite& s) { return one(s.e.cast(s.in[0], s.op.outputs[0]->spec.dtype)); }},
    {"round_to_bfloat16",
     [](const ExportSite& s) { return one(s.e.cast(s.e.cast(s.in[0], DType::bfloat16), s.dtype())); }},
    {"identity", same},
    {"detach", same},
    {"copy_var_update_", [](const ExportSite& s) { return one(s.in[1]); }},
    {"io_tile_copy", same},
    {"linear_layout", same},
    {"print", same},
    {"div",
     [](const ExportSite& s) {
       if (whole(s.dtype())) throw NoForm{"ONNX leaves the division of ints by 0 open"};
       return one(s.e.add("Div", {s.in[0], s.in[1]}));
     }},
    {"floor_div",
     [](const ExportSite& s) {
       if (whole(s.dtype())) throw NoForm{"ONNX divides ints towards zero"};
       return one(s.e.add("Floor", {s.e.add("Div", {s.in[0], s.in[1]})}));
     }},
    {"fmod",
     [](const ExportSite& s) {
       return one(s.e.add("Mod", {s.in[0], s.in[1]}, {attribute("fmod", int64_t{1})}));
     }},
    {"mod",
     [](const ExportSite& s) {
       if (whole(s.dtype())) return one(s.e.add("Mod", {s.in[0], s.in[1]}));
       const std::string q = s.e.add("Floor", {s.e.add("Div", {s.in[0], s.in[1]})});
       return one(s.e.add("Sub", {s.in[0], s.e.add("Mul", {s.in[1], q})}));
     }},
    {"sum_n", [](const ExportSite& s) { return one(s.e.add("Sum", s.in)); }},
    {"scaled_add",
     [](const ExportSite& s) {
       const auto scaled = [&](size_t slot, const char* param, size_t factor) {
         if (s.c.has(factor)) return s.e.add("Mul", {s.in[slot], s.in[factor]});
         const double v = s.c.number(param);
         return v == 1 ? s.in[slot] : s.e.add("Mul", {s.in[slot], s.constant(v)});
       };
       return one(s.e.add("Add", {scaled(0, "a", 2), scaled(1, "b", 3)}));
     }},
    {"not_equal",
     [](const ExportSite& s) {
       return one(s.e.add("Not", {s.e.add("Equal", {s.in[0], s.in[1]})}));
     }},
    {"select", [](const ExportSite& s) { return one(s.e.add("Where", s.in)); }},
    {"and", logical<0>},
    {"or", logical<1>},
    {"bitwise_and", logical<0>},
    {"bitwise_or", logical<1>},
    {"bitwise_xor", logical<2>},
    {"not", logical<3>},
    {"isinf", [](const ExportSite& s) { return one(s.e.add("IsInf", s.in)); }, others_as_float32},
    {"isnan", [](const ExportSite& s) { return one(s.e.add("IsNaN", s.in)); }, others_as_float32},
    {"negate", plain, negations_as_wider},
    {"greater", plain, bool_as_uint8},
    {"greater_equal", plain, bool_as_uint8},
    {"less", plain, bool_as_uint8},
    {"less_equal", plain, bool_as_uint8},
    {"sum", reduce_form<0>, shorts_as_int32},
    {"mean", reduce_form<1>},
    {"max", reduce_form<2>, narrow_as_int32},
    {"min", reduce_form<3>, narrow_as_int32},
    {"prod", reduce_form<4>, shorts_as_int32},
    {"l1", reduce_form<5>, shorts_as_int32},
    {"l2", reduce_form<6>},
    {"sumsquare", reduce_form<7>, shorts_as_int32},
    {"logsum", reduce_form<8>},
    {"logsumexp", reduce_form<9>},
    {"variance", variance_form<false>},
    {"deviation", variance_form<true>},
    {"argmax", arg_form<true>, bool_as_uint8},
    {"argmin", arg_form<false>, bool_as_uint8},
    {"cumsum",
     [](const ExportSite& s) {
       return one(s.e.add("CumSum", {s.in[0], s.e.initialiser("axis", Array::scalar<int64_t>(s.axis()))},
                          {attribute("exclusive", int64_t{s.c.boolean("exclusive")}),
                           attribute("reverse", int64_t{s.c.boolean("reverse")})}));
     },
     shorts_as_int32},
    {"cumprod", running_product},
    {"matmul",
     [](const ExportSite& s) {
       return one(s.e.add("MatMul", {s.in[0], s.in[1]}));
     },
     shorts_as_int32},
    {"fourier", transformed},
    {"softmax", [](const ExportSite& s) { return one(s.e.add("Softmax", s.in, {attribute("axis", s.axis())})); }},
    {"log_softmax",
     [](const ExportSite& s) { return one(s.e.add("LogSoftmax", s.in, {attribute("axis", s.axis())})); }},
    {"hardmax", [](const ExportSite& s) { return one(s.e.add("Hardmax", s.in, {attribute("axis", s.axis())})); }},
    {"lrn",
     [](const ExportSite& s) {
       std::vector<Attribute> a = numbers(s, "alpha", "beta", "bias");
       a.push_back(attribute("size", s.c.integer("size")));
       return one(s.e.add("LRN", s.in, a));
     }},
    {"lamb_square",
     [](const ExportSite& s) {
       const std::string wide = s.dtype() == DType::float32 ? s.in[0] : s.e.cast(s.in[0], DType::float32);
       return one(s.e.add("ReduceSumSquare", {wide}, {attribute("keepdims", int64_t{0})}));
     }},
    {"increment_mod",
     [](const ExportSite& s) {
       const std::string sum = s.e.add("Add", {s.in[0], s.element("increment")});
       if (!whole(s.dtype()) || s.c.number("modulus") == 0) throw NoForm{"ONNX's Mod of floats and by 0 is another"};
       return one(s.e.add("Mod", {sum, s.element("modulus")}));
     }},
    {"layer_normalization",
     [](const ExportSite& s) {
       return one(s.e.add("LayerNormalization", {s.in[0], s.in[1], s.in[2]},
                          {attribute("axis", int64_t{-1}), attribute("epsilon", s.c.number("eps"))}));
     }},
    {"group_normalization",
     [](const ExportSite& s) {
       const int64_t groups = s.c.integer("num_groups"), channels = s.shape()[1];
       const std::string folded = s.e.add("Reshape", {s.in[0], s.e.ints({s.shape()[0], groups, -1})});
       const std::string ones = s.e.initialiser("ones", Array::full(s.dtype(), {groups}, 1)),
                         none = s.e.initialiser("zeros", Array::zeros(s.dtype(), {groups}));
       const std::string normal =
           s.e.add("InstanceNormalization", {folded, ones, none}, {attribute("epsilon", s.c.number("eps"))});
       const std::string back = s.e.add("Reshape", {normal, s.e.ints(s.shape())});
       Ints each(s.shape().size() - 1, 1);
       each[0] = channels;
       const auto channel = [&](size_t slot) { return s.e.add("Reshape", {s.in[slot], s.e.ints(each)}); };
       return one(s.e.add("Add", {s.e.add("Mul", {back, channel(1)}), channel(2)}));
     }},
    {"batch_norm_inference",
     [](const ExportSite& s) {
       return one(s.e.add("BatchNormalization", {s.in[0], s.in[1], s.in[2], s.in[3], s.in[4]},
                          {attribute("epsilon", s.c.number("epsilon"))}));
     }},
    {"batch_statistics",
     [](const ExportSite& s) {
       const DType of = s.op.outputs[0]->spec.dtype;
       const std::string x = of == s.dtype() ? s.in[0] : s.e.cast(s.in[0], DType::float32);
       Ints axes{0};
       for (size_t i = 2; i < s.shape().size(); ++i) axes.push_back(static_cast<int64_t>(i));
       const std::vector<Attribute> over{attribute("axes", axes), attribute("keepdims", int64_t{1})};
       const std::string mean = s.e.add("ReduceMean", {x}, over), centred = s.e.add("Sub", {x, mean}),
                         var = s.e.add("ReduceMean", {s.e.add("Mul", {centred, centred})}, over);
       const auto flat = [&](const std::string& e) { return s.e.add("Reshape", {e, s.e.ints(s.out_shape())}); };
       return Texts{flat(mean), flat(var), flat(s.e.add("ReduceMean", {centred}, over))};
     }},
    {"leaky_relu", [](const ExportSite& s) { return one(s.e.add("LeakyRelu", s.in, numbers(s, "alpha"))); }},
    {"elu", [](const ExportSite& s) { return one(s.e.add("Elu", s.in, numbers(s, "alpha"))); }},
    {"celu",
     [](const ExportSite& s) {
       if (s.dtype() == DType::float32) return one(s.e.add("Celu", s.in, numbers(s, "alpha")));
       const std::string alpha = s.constant(s.c.number("alpha"));
       return one(s.e.add("Mul", {s.e.add("Elu", {s.e.add("Div", {s.in[0], alpha})}), alpha}));
     }},
    {"relu",
     [](const ExportSite& s) {
       return row(s.dtype()).kind == DTypeKind::unsigned_integer ? same(s) : one(s.e.add("Relu", s.in));
     },
     int16_as_int32},
    {"pow",
     [](const ExportSite& s) {
       if (s.dtype() == DType::uint64) throw NoForm{"ONNX has no powers of uint64"};
       return one(s.e.add("Pow", s.in));
     },
     powers_as_wider},
    {"floor", rounded<0>},
    {"ceil", rounded<1>},
    {"round", rounded<2>},
    {"selu", [](const ExportSite& s) { return one(s.e.add("Selu", s.in, numbers(s, "alpha", "gamma"))); }},
    {"hard_sigmoid",
     [](const ExportSite& s) { return one(s.e.add("HardSigmoid", s.in, numbers(s, "alpha", "beta"))); }},
    {"shrink", [](const ExportSite& s) { return one(s.e.add("Shrink", s.in, numbers(s, "lambd", "bias"))); }},
    {"thresholded_relu",
     [](const ExportSite& s) { return one(s.e.add("ThresholdedRelu", s.in, numbers(s, "alpha"))); }},
};

}  // namespace

std::span<const ExportRow> arithmetic_forms() { return arithmetic_rows; }

}  // namespace pxl::onnx
