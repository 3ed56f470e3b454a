// See draw.hpp: the rows whose operands depend on each other or on attributes.
#include "draw.hpp"

#include "runtime/ops/windows/window_params.hpp"

namespace pxl::test {

namespace {

// Two operands of one dtype that broadcast against each other.
Sample pair(Draw& d) {
  const Shape whole = d.shape();
  Shape a = d.coin() ? whole : d.narrower(whole), b = d.coin() ? whole : d.narrower(whole);
  return {{d.values(a), d.values(b)}};
}

Sample pair_into_first(Draw& d) {
  const Shape whole = d.shape();
  return {{d.values(whole), d.values(d.coin() ? whole : d.narrower(whole))}};
}

Sample bools(Draw& d) {
  const Shape whole = d.shape();
  return {{d.values(whole), d.values(d.narrower(whole))}};
}

Sample along_axis(Draw& d) {
  const Shape s = d.shape(1);
  return {{d.values(s)}, {{"axis", d.axis(s.size())}}};
}

Sample pair_along_axis(Draw& d) {
  const Shape s = d.shape(1);
  return {{d.values(s), d.values(s)}, {{"axis", d.axis(s.size())}}};
}

DType float8(Draw& d) {
  return d.one_of<DType>({DType::float8_143, DType::float8_152, DType::float8_e4m3fn, DType::float8_e5m2});
}

Sample product(Draw& d, bool scaled) {
  const int64_t m = d.extent(), k = d.extent(), n = d.extent();
  const Shape batch = d.shape(0, 2);
  Shape a = d.narrower(batch), b = d.narrower(batch);
  if (!a.empty() || d.below(4) != 0) a.push_back(m);
  if (!b.empty() || d.below(4) != 0) b.insert(b.end(), {k, n});
  a.push_back(k);
  if (b.empty()) b = {k};
  const auto other = [&] { return scaled && d.coin() ? DType::float8_152 : d.dtype; };
  Sample s{{d.values(d.dtype, a), d.values(other(), b)}};
  if (scaled) s.operands.emplace_back(array<int32_t>({}, {static_cast<int32_t>(d.between(-4, 4))}));
  return s;
}

// Rows of a window: a start, a step and a size an axis, all within `s`.
void window(Draw& d, const Shape& s, Ints& starts, Ints& steps, Shape& sizes) {
  for (int64_t extent : s) {
    const int64_t step = extent == 0 ? 1 : d.one_of<int64_t>({1, 1, -1, 2, -3});
    const int64_t most = extent == 0 ? 0 : (extent - 1) / std::abs(step) + 1, size = d.below(most + 1);
    const int64_t reach = size == 0 ? 0 : (size - 1) * std::abs(step);
    const int64_t low = extent == 0 ? 0 : d.below(extent - reach);
    starts.push_back(step > 0 || size == 0 ? (size == 0 ? 0 : low) : low + reach);
    steps.push_back(step);
    sizes.push_back(size);
  }
}

// Scales and zero points for a tensor, or for the places along one of its axes.
Sample linear_quantised(Draw& d, bool back) {
  const Shape t = d.shape(1);
  const int64_t axis = d.axis(t.size());
  const Shape parameters = d.coin() ? Shape{d.at(t, axis)} : d.coin() ? Shape{} : Shape{1};
  const DType stored = d.one_of<DType>({DType::int8, DType::uint8, DType::int16, DType::uint16});
  const DType scales = back || !is_floating(d.dtype) ? d.floating() : d.dtype;
  const bool small = back && (is_floating(d.dtype) || d.coin());
  Sample s{{small ? d.values(stored, t) : d.values(t), d.positive(scales, parameters), {}}, {{"axis", axis}}};
  if (d.coin()) s.operands[2] = d.values(stored, parameters);
  if (!back) s.attrs["dtype"] = stored;
  return s;
}

Sample labelled(Draw& d, std::function<Sample(const Array&, const Array&)> make) {
  const Shape rows = d.shape(0, 2);
  const int64_t classes = d.between(1, 6);
  Array probs = d.positive(DType::float64, concatenated(rows, {classes}));
  if (d.below(5) == 0) probs = d.values(DType::float64, probs.shape());
  if (is_floating(d.dtype)) probs = probs.cast(d.dtype);
  Sample s = make(probs, d.indices(rows, classes));
  s.attrs["reduction"] = d.one_of<std::string>({"mean", "sum", "none"});
  if (d.coin()) s.attrs["ignore_index"] = d.below(classes + 1);
  return s;
}

Sample normalised(Draw& d, bool grouped, bool gradient) {
  const int64_t groups = d.between(1, 3), channels = grouped ? groups * d.between(1, 3) : d.some();
  const Shape x = grouped ? concatenated({d.some(), channels}, d.shape(0, 2)) : concatenated(d.shape(0, 2), {channels});
  const DType of_weight = d.coin() && is_floating(d.dtype) ? d.floating() : d.dtype;
  Sample s;
  if (!gradient) {
    s = {{d.values(x), d.values(of_weight, {channels}), d.values(of_weight, {channels})},
         {{"eps", d.one_of<double>({1e-5, 1e-2})}}};
  } else {
    const int64_t rows = grouped ? x[0] * groups : element_count(Shape(x.begin(), x.end() - 1));
    const DType statistics = d.dtype == DType::float64 ? d.dtype : DType::float32;
    s = {{d.values(x), d.values(x), d.values(of_weight, {channels}), d.values(statistics, {rows}),
          d.positive(statistics, {rows})}};
  }
  if (grouped) s.attrs["num_groups"] = groups;
  return s;
}

Sample random(Draw& d) {
  Sample s{{d.seed()}, {{"shape", d.shape()}, {"dtype", d.dtype}}};
  if (d.coin()) s.attrs[d.row.name == "random_uniform" ? "low" : "mean"] = d.uniform(-3, 0);
  if (d.coin()) s.attrs[d.row.name == "random_uniform" ? "high" : "std"] = d.one_of<double>({0.0, 0.5, 2.0});
  return s;
}

Sample accumulation(Draw& d, const char* param, bool may_be_none) {
  const Shape t = d.shape();
  Sample s{{d.values(t), d.values(is_floating(d.dtype) ? d.floating() : d.dtype, d.coin() ? t : d.narrower(t))}};
  if (!may_be_none || d.coin()) d.factor(s, param, d.one_of<double>({0.0, 1.0, 0.75, 3.0}));
  return s;
}

Sample adam(Draw& d) {
  const Shape t = d.shape();
  Sample s;
  s.operands.resize(d.row.params.size());
  d.operand(s, "acc_first_order") = d.values(t);
  d.operand(s, "acc_second_order") = d.positive(d.floating(), t);
  if (d.coin()) {
    d.operand(s, "weight") = d.values(is_floating(d.dtype) ? d.floating() : d.dtype, t);
    d.factor(s, "weight_decay", d.one_of<double>({0.0, 0.1}));
  }
  if (d.coin()) {
    d.operand(s, "time_step") =
        Array::full(d.coin() ? DType::float32 : DType::float16, {}, static_cast<double>(d.below(50)));
    d.factor(s, "beta1", 0.9);
    d.factor(s, "beta2", 0.75);
  }
  if (d.coin()) d.factor(s, "epsilon", 1e-3);
  s.attrs["adamax"] = d.coin();
  return s;
}

// Matrices with a large diagonal of different numbers, and seldom one with NaN.
Array matrices(Draw& d, const Shape& batch, int64_t rows, int64_t columns) {
  Array a(DType::float64, concatenated(batch, {rows, columns}));
  for (int64_t i = 0; i < a.size(); ++i) {
    const bool diagonal = i % columns == i / columns % rows;
    a.mutable_data<double>()[i] = d.uniform(-0.3, 0.3) + (diagonal ? 3 + 2 * static_cast<double>(i % columns) : 0.0);
  }
  if (d.special && a.size() > 0 && d.below(4) == 0) a.mutable_data<double>()[d.below(a.size())] = std::nan("");
  return is_float8(d.dtype) ? as_float8(a, d.dtype) : a.cast(d.dtype);
}

Sample square(Draw& d) {
  const int64_t n = d.extent();
  return {{matrices(d, d.shape(0, 2), n, n)}};
}
Sample rectangular(Draw& d) { return {{matrices(d, d.shape(0, 2), d.extent(), d.extent())}}; }
Sample with_right_side(Draw& d) {
  const int64_t n = d.extent();
  const Shape batch = d.shape(0, 2);
  return {{matrices(d, batch, n, n), matrices(d, batch, n, d.extent())}};
}

}  // namespace

const Families& Draw::families() {
  static const Families all = [] {
    Families m;
    add_window_draws(m);
    add_index_draws(m);
    for (const char* name :
         {"add", "sub", "mul", "div", "floor_div", "fmod", "mod", "pow", "equal", "not_equal", "less", "less_equal",
          "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"})
      m[name] = pair;
    m["add_"] = pair_into_first;
    m["and"] = m["or"] = bools;
    for (const char* name :
         {"softmax", "log_softmax", "hardmax", "argmax", "argmin", "cumsum", "cumsum_grad", "cumprod", "sort"})
      m[name] = [](Draw& d) {
        Sample s = along_axis(d);
        for (const Param& p : d.row.params)
          if (p.kind == ParamKind::boolean) s.attrs[std::string(p.name)] = d.coin();
        return s;
      };
    m["cholesky"] = m["det"] = m["slogdet"] = m["eigh"] = square;
    m["qr"] = m["svd"] = rectangular;
    m["triangular_solve_matrices"] = m["solve_matrices"] = with_right_side;
    m["fourier"] = [](Draw& d) {
      const int64_t n = d.one_of<int64_t>({1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 60, 64, 75, 101});
      const bool inverse = d.coin(), real = d.coin();
      Shape shape = d.shape(0, 3);
      const int64_t axis = d.between(0, std::ssize(shape));
      shape.insert(shape.begin() + axis, real && inverse ? n / 2 + 1 : n);
      if (!real || inverse) shape.push_back(2);
      return Sample{{d.values(shape)}, {{"inverse", inverse}, {"real", real ? n : 0}, {"axis", axis}}};
    };
    m["softmax_grad"] = m["log_softmax_grad"] = pair_along_axis;
    m["maximum"] = m["minimum"] = m["sum_n"] = [](Draw& d) {
      Sample s;
      const Shape whole = d.shape();
      for (int64_t n = d.between(1, 4); n > 0; --n)
        s.operands.emplace_back(d.values(d.coin() ? whole : d.narrower(whole)));
      return s;
    };
    for (const char* name :
         {"all_reduce_between", "all_reduce_identical_inputs_between", "all_reduce_identical_grad_inputs_between"})
      m[name] = [](Draw& d) {
        Sample s;
        const Shape shape = d.shape();
        Ints ipus;
        for (int64_t n = d.between(1, 5); n > 0; --n) {
          s.operands.emplace_back(d.values(shape));
          ipus.push_back(d.below(3));
        }
        s.attrs["ipus"] = ipus;
        if (d.row.params.size() > 2)
          s.attrs["op"] =
              d.one_of<std::string>({"add", "add", "mean", "mean", "max", "min", "mul", "or", "and", "square_add"});
        return s;
      };
    m["concat"] = m["concat_"] = [](Draw& d) {
      Sample s;
      Shape shape = d.shape(1);
      const int64_t axis = d.axis(shape.size());
      for (int64_t n = d.between(1, 3); n > 0; --n) {
        shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)] = d.extent();
        s.operands.emplace_back(d.values(shape));
      }
      s.attrs["axis"] = axis;
      return s;
    };
    m["select"] = [](Draw& d) {
      const Shape whole = d.shape();
      return Sample{{d.values(DType::boolean, d.narrower(whole)), d.values(d.narrower(whole)), d.values(whole)}};
    };
    m["cast"] = [](Draw& d) {
      const auto rows = dtype_table();
      const auto at = static_cast<size_t>(d.below(13));
      return Sample{{d.values(d.shape())}, {{"data_type", at == 12 ? DType::bfloat16 : rows[at].dtype}}};
    };
    m["clip"] = [](Draw& d) {
      Sample s{{d.values(d.shape())}};
      if (d.coin()) s.attrs["min"] = d.element({-2.5, 0.0, -0.0, -1});
      if (d.coin()) s.attrs["max"] = d.element({0.5, 3, 1, 0.0, -0.0});
      return s;
    };
    m["clip_grad"] = [](Draw& d) {
      const Shape s = d.shape();
      return Sample{{d.values(s), d.values(s)}, {{"min", d.uniform(-2, 0)}, {"max", d.uniform(0, 2)}}};
    };
    m["gate_grad"] = [](Draw& d) {
      const Shape s = d.shape();
      return Sample{{d.values(s), d.values(s)},
                    {{"min", d.uniform(-2, 0)},
                     {"max", d.uniform(0, 2)},
                     {"inside", d.one_of<double>({0, 0.1})},
                     {"outside", d.one_of<double>({1, -0.3})}}};
    };
    m["increment_mod"] = m["increment_mod_"] = [](Draw& d) {
      return Sample{{d.values(d.shape())}, {{"increment", d.element({1, 2, 5})}, {"modulus", d.element({3, 7, 0})}}};
    };
    m["reshape"] = m["reshape_"] = [](Draw& d) {
      const Shape s = d.shape();
      const Ints to =
          element_count(s) > 0 && d.coin() ? Ints{-1, d.one_of(Ints(s.empty() ? Ints{1} : s))} : Ints{element_count(s)};
      return Sample{{d.values(s)}, {{"shape", to}}};
    };
    m["transpose"] = m["transpose_"] = [](Draw& d) {
      const Shape s = d.shape();
      Sample sample{{d.values(s)}};
      Ints permutation;
      for (size_t i = 0; i < s.size(); ++i) permutation.push_back(static_cast<int64_t>(i));
      std::shuffle(permutation.begin(), permutation.end(), d.rng);
      if (d.below(4) != 0) sample.attrs["permutation"] = permutation;
      return sample;
    };
    m["broadcast_to"] = [](Draw& d) {
      const Shape s = d.shape();
      return Sample{{d.values(d.narrower(s))}, {{"shape", s}}};
    };
    m["slice_window"] = m["slice_window_"] = [](Draw& d) {
      const Shape s = d.shape();
      Ints starts, steps;
      Shape sizes;
      window(d, s, starts, steps, sizes);
      return Sample{{d.values(s)}, {{"starts", starts}, {"steps", steps}, {"sizes", sizes}}};
    };
    m["slice_grad"] = [](Draw& d) {
      const Shape s = d.shape();
      Ints starts, steps;
      Shape sizes;
      window(d, s, starts, steps, sizes);
      return Sample{{d.values(sizes)}, {{"starts", starts}, {"steps", steps}, {"sizes", s}}};
    };
    m["subsample"] = m["subsample_"] = [](Draw& d) {
      const Shape s = d.shape();
      Ints strides;
      for (int64_t n = d.below(static_cast<int64_t>(s.size()) + 1); n > 0; --n) strides.push_back(d.between(1, 4));
      return Sample{{d.values(s)}, {{"strides", strides}}};
    };
    m["pad"] = [](Draw& d) {
      const Shape s = d.shape();
      Ints padding;
      for (size_t i = 0; i < 2 * s.size(); ++i) padding.push_back(d.below(3));
      // Also numbers that are none of int64, which could pass for the number of an element.
      const bool wide = is_floating(d.dtype) && size_of(d.dtype) >= sizeof(float) && d.coin();
      const Attr value = wide ? Attr(d.one_of<double>({1e19, -3e38, -0.0})) : d.element({0.0, 1.0, -2.5});
      return Sample{{d.values(s)}, {{"padding", padding}, {"value", value}}};
    };
    m["roll"] = [](Draw& d) {
      Sample s = along_axis(d);
      s.attrs["shift"] = d.one_of<int64_t>({0, 1, -1, 5, -13, std::numeric_limits<int64_t>::min()});
      return s;
    };
    m["split"] = [](Draw& d) {
      Shape s = d.shape(1);
      const int64_t axis = d.axis(s.size()), parts = d.between(1, 3);
      int64_t& extent = s[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(s.size()) : axis)];
      if (d.coin()) {
        extent *= parts;
        return Sample{{d.values(s)}, {{"splits", parts}, {"axis", axis}}};
      }
      Ints sizes;
      extent = 0;
      for (int64_t i = 0; i < parts; ++i) extent += sizes.emplace_back(d.extent());
      return Sample{{d.values(s)}, {{"splits", sizes}, {"axis", axis}}};
    };
    m["matmul"] = [](Draw& d) {
      Sample s = product(d, false);
      if (d.below(3) == 0)
        s.attrs["output_type"] = is_floating(d.dtype) ? d.floating() : d.one_of<DType>({DType::int64, DType::int16});
      return s;
    };
    m["dequantise"] = [](Draw& d) {
      const bool packed = d.coin();
      const int64_t rows = d.extent(), n = d.extent(), k = packed ? 2 * rows : rows;
      const int64_t group = packed ? d.one_of<int64_t>({2, 4, 64}) : d.one_of<int64_t>({1, 3, 64});
      return Sample{
          {d.values(packed ? DType::uint8 : DType::int8, {rows, n}), d.values(d.dtype, {(k + group - 1) / group, n})},
          {{"bits", packed ? 4 : 8}, {"group_size", group}}};
    };
    m["quantised_matmul"] = [](Draw& d) {
      const bool packed = d.coin();
      const int64_t rows = d.extent(), n = d.one_of<int64_t>({1, 7, 64, 100, 130}), k = packed ? 2 * rows : rows;
      const int64_t group = packed ? d.one_of<int64_t>({2, 6, 64}) : d.one_of<int64_t>({1, 3, 64});
      const int64_t groups = (k + group - 1) / group;
      Shape x = d.shape(), scales = x;
      x.push_back(k), scales.push_back(groups);
      return Sample{{d.values(DType::int8, x), d.values(packed ? DType::uint8 : DType::int8, {rows, n}),
                     d.positive(DType::float32, scales), d.positive(DType::float32, {groups, n})},
                    {{"bits", packed ? 4 : 8}, {"group_size", group}}};
    };
    m["matmul_integer"] = [](Draw& d) {
      const auto byte = [&] { return d.one_of<DType>({DType::int8, DType::uint8}); };
      const DType a = byte(), b = byte();
      const int64_t rows = d.one_of<int64_t>({1, 2, 7, 13, 100}), k = d.extent(),
                    n = d.one_of<int64_t>({1, 7, 64, 100, 130});
      const Shape batch = d.shape(0, 2);
      Sample s{{d.values(a, concatenated(d.narrower(batch), {rows, k})),
                d.values(b, concatenated(d.narrower(batch), {k, n})),
                {},
                {}}};
      if (d.coin()) s.operands[2] = d.values(a, d.coin() ? Shape{rows} : Shape{});
      if (d.coin()) s.operands[3] = d.values(b, d.coin() ? Shape{n} : Shape{1});
      return s;
    };
    m["matmul_pow2scaled"] = [](Draw& d) { return product(d, true); };
    m["pow2scale_cast_to_fp8"] = [](Draw& d) {
      return Sample{{d.values(d.shape()), array<int32_t>({}, {static_cast<int32_t>(d.between(-12, 12))})},
                    {{"data_type", float8(d)}, {"nan_on_overflow", d.coin()}}};
    };
    m["pow2scale_cast_from_fp8"] = [](Draw& d) {
      const DType from = is_float8(d.dtype) ? float8(d) : d.dtype;
      return Sample{{d.values(from, d.shape()), array<int32_t>({}, {static_cast<int32_t>(d.between(-32, 32))})},
                    {{"data_type", d.floating()}}};
    };
    m["fp8_amax_scale"] = [](Draw& d) { return Sample{{d.values(d.shape())}, {{"dtype", float8(d)}}}; };
    m["quantize_linear"] = [](Draw& d) { return linear_quantised(d, false); };
    m["dequantize_linear"] = [](Draw& d) { return linear_quantised(d, true); };
    m["lrn"] = [](Draw& d) {
      return Sample{{d.values(d.shape(2))},
                    {{"size", d.between(1, 6)},
                     {"alpha", d.uniform(0, 2)},
                     {"beta", d.uniform(0, 1.5)},
                     {"bias", d.uniform(0.5, 2)}}};
    };
    m["group_normalization"] = [](Draw& d) { return normalised(d, true, false); };
    m["group_normalization_grad"] = [](Draw& d) { return normalised(d, true, true); };
    m["layer_normalization"] = [](Draw& d) { return normalised(d, false, false); };
    m["layer_normalization_grad"] = [](Draw& d) { return normalised(d, false, true); };
    m["batch_norm_inference"] = [](Draw& d) {
      const int64_t channels = d.some();
      const DType of = d.coin() && is_floating(d.dtype) ? d.floating() : d.dtype;
      const auto p = [&] { return d.values(of, {channels}); };
      return Sample{{d.values(concatenated({d.some(), channels}, d.shape(0, 2))), p(), p(), p(),
                     d.positive(is_floating(of) ? of : DType::float32, {channels})},
                    {{"epsilon", d.one_of<double>({1e-5, 1e-2})}}};
    };
    m["batch_statistics"] = [](Draw& d) {
      return Sample{{d.values(concatenated({d.some(), d.some()}, d.shape(0, 2)))}};
    };
    m["batch_norm_grad_sums"] = [](Draw& d) {
      const Shape shape = concatenated({d.some(), d.some()}, d.shape(0, 2));
      const DType of = compute_dtype(d.dtype);
      return Sample{{d.values(shape), d.values(shape), d.values(of, {shape[1]})}};
    };
    m["nll_loss"] = [](Draw& d) {
      return labelled(d, [&](const Array& p, const Array& l) { return Sample{{p, l}, {{"log_prob", d.coin()}}}; });
    };
    m["nll_grad"] = [](Draw& d) {
      Sample s = labelled(d, [&](const Array& p, const Array& l) {
        return Sample{{{}, p, l}, {{"log_prob", d.coin()}}};
      });
      const bool each = std::get<std::string>(s.attrs.at("reduction")) == "none";
      s.operands[0] =
          d.values(is_floating(d.dtype) ? d.dtype : DType::float64, each ? s.operands[2]->shape() : Shape{});
      return s;
    };
    m["nll_loss_with_softmax_grad_direct"] = [](Draw& d) {
      return labelled(d, [&](const Array& p, const Array& l) {
        Sample s{{p, l, d.number(d.uniform(0.5, 3))}};
        if (d.coin()) d.operand(s, "logits") = d.values(p.dtype(), p.shape());
        return s;
      });
    };
    m["random_uniform"] = m["random_normal"] = random;
    m["dropout"] = m["dropout_grad"] = [](Draw& d) {
      return Sample{{d.values(d.shape()), d.seed()}, {{"p", d.one_of<double>({0.0, 0.3, 0.5, 1.0})}}};
    };
    m["shaped_dropout"] = m["shaped_dropout_grad"] = [](Draw& d) {
      const Shape s = d.shape();
      return Sample{{d.values(s), d.seed()}, {{"shape", d.narrower(s)}, {"ratio", d.one_of<double>({0.0, 0.3, 1.0})}}};
    };
    m["modify_random_seed"] = [](Draw& d) {
      return Sample{{d.seed(), array<uint32_t>({}, {static_cast<uint32_t>(d.rng())})}};
    };
    m["scaled_add"] = m["scaled_add_"] = [](Draw& d) {
      const Shape s = d.shape();
      Sample sample{{d.values(s), d.values(is_floating(d.dtype) ? d.floating() : d.dtype, s)}};
      if (d.coin()) d.factor(sample, "a", d.one_of<double>({1.0, 0.5, -2}));
      if (d.coin()) d.factor(sample, "b", d.one_of<double>({1.0, 0.25, -3}));
      return sample;
    };
    m["accumulate_"] = [](Draw& d) { return accumulation(d, "f", true); };
    m["accumulate_square_"] = [](Draw& d) { return accumulation(d, "f", false); };
    m["accumulate_moving_average_"] =
        m["accumulate_moving_average_square_"] = [](Draw& d) { return accumulation(d, "f", false); };
    m["accumulate_mean_"] = [](Draw& d) { return accumulation(d, "step", false); };
    m["accumulator_scale_"] = [](Draw& d) {
      Sample s{{d.values(d.shape())}};
      d.factor(s, "f", d.one_of<double>({0.0, 1.0, -0.5}));
      return s;
    };
    m["copy_var_update_"] = [](Draw& d) {
      const Shape s = d.shape();
      return Sample{{d.values(s), d.values(s)}};
    };
    m["adam_update"] = adam;
    m["adam_var_update"] = [](Draw& d) {
      const Shape s = d.shape();
      Sample sample{{d.values(s), d.values(s), d.number(d.one_of<double>({0.0, 2.0, 9.0})),
                     d.number(d.one_of<double>({0.0, 4.0}))}};
      if (d.coin()) d.factor(sample, "learning_rate", 0.1);
      if (d.coin()) d.factor(sample, "max_weight_norm", 2.5);
      return sample;
    };
    // Between -1 and 1, and seldom beyond.
    m["acos"] = m["asin"] = m["atanh"] = m["erfinv"] = [](Draw& d) {
      Array x(DType::float64, d.shape());
      for (int64_t i = 0; i < x.size(); ++i)
        x.mutable_data<double>()[i] = static_cast<double>(d.between(-60, 60)) / (d.below(20) == 0 ? 32 : 64);
      return Sample{{is_float8(d.dtype) ? as_float8(x, d.dtype) : x.cast(d.dtype)}};
    };
    m["checked_weights"] = [](Draw& d) {
      Shape s = d.shape();
      s.push_back(d.between(1, 9));
      return Sample{{d.positive(d.floating(), s)}, {{"logits", d.coin()}}};
    };
    m["print"] = [](Draw& d) {
      return Sample{{d.values(d.shape())}, {{"title", std::string("t")}, {"print_self", false}}};
    };
    m["ipu_copy_to"] = [](Draw& d) { return Sample{{d.values(d.shape())}, {{"destination", d.below(4)}}}; };
    m["init"] = [](Draw& d) {
      return Sample{
          {}, {{"shape", d.shape()}, {"dtype", d.dtype}, {"init_type", d.one_of<std::string>({"zero", "undef"})}}};
    };
    return m;
  }();
  return all;
}

}  // namespace pxl::test
