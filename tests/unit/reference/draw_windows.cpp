// Draws for ops with spatial axes: windows, pooling, interpolation, regions.
#include "draw.hpp"

namespace pxl::test {

namespace {

struct Windows {
  Shape data{}, kernel{};
  std::map<std::string, Attr> attrs{};
};

// Data of one to three spatial axes with windows on it.
Windows windows(Draw& d, bool explicit_) {
  Windows w;
  const auto rank = static_cast<size_t>(d.between(1, 3));
  Ints stride, dilation, padding;
  for (size_t i = 0; i < rank; ++i) {
    w.data.push_back(d.between(1, rank == 3 ? 4 : 9));
    w.kernel.push_back(d.between(1, 3));
    stride.push_back(d.between(1, 3));
    dilation.push_back(d.between(1, 2));
  }
  for (size_t i = 0; i < 2 * rank; ++i) padding.push_back(d.below(3));
  if (explicit_ || d.coin()) w.attrs["stride"] = stride;
  if (explicit_ || d.coin()) w.attrs["dilation"] = dilation;
  if (explicit_ || d.coin()) w.attrs["padding"] = padding;
  return w;
}

std::string pad_type(Draw& d, Windows& w) {
  const std::string type = d.one_of<std::string>({"not_set", "not_set", "same_upper", "same_lower", "valid"});
  if (type != "not_set") w.attrs.erase("padding");
  return type;
}

Sample convolution(Draw& d, bool transposed, bool scaled) {
  Windows w = windows(d, false);
  const int64_t groups = d.between(1, 2), batch = d.between(1, 2);
  // Seldom no channels to sum over.
  int64_t cin = d.between(1, 3), cout = d.between(1, 3);
  if (d.below(8) == 0) (transposed ? cout : cin) = 0;
  w.attrs["groups"] = groups;
  w.attrs["pad_type"] = pad_type(d, w);
  if (transposed && d.coin()) w.attrs["output_padding"] = Ints(w.data.size(), 1);
  if (transposed && d.below(4) == 0) w.attrs["output_shape"] = Ints(w.data.size(), d.between(4, 9));
  Sample s{{d.values(concatenated({batch, groups * (transposed ? cout : cin)}, w.data)),
            d.values(scaled && d.coin() ? DType::float8_152 : d.dtype, concatenated({groups * cout, cin}, w.kernel))},
           w.attrs};
  if (scaled)
    s.operands.emplace_back(array<int32_t>({}, {static_cast<int32_t>(d.between(-4, 4))}));
  else if (d.coin())
    d.operand(s, "bias") = d.values({groups * (transposed ? cin : cout)});
  return s;
}

Sample convolution_of_bytes(Draw& d) {
  Windows w = windows(d, false);
  const auto byte = [&] { return d.one_of<DType>({DType::int8, DType::uint8}); };
  const DType t = byte(), weight = byte();
  const int64_t groups = d.between(1, 3), cin = d.below(8) == 0 ? 0 : d.between(1, 9), cout = d.between(1, 20);
  w.attrs["groups"] = groups;
  w.attrs["pad_type"] = pad_type(d, w);
  Sample s{{d.values(t, concatenated({d.between(1, 5), groups * cin}, w.data)),
            d.values(weight, concatenated({groups * cout, cin}, w.kernel)),
            {},
            {}},
           w.attrs};
  if (d.coin()) s.operands[2] = d.values(t, {});
  if (d.coin()) s.operands[3] = d.values(weight, d.coin() ? Shape{groups * cout} : Shape{1});
  return s;
}

// The spec that a row infers for a sample, to make gradients of its shape; nothing where it refuses.
std::optional<Shape> inferred(std::string_view name, const Sample& s) {
  try {
    const OpRow& row = get_op(name);
    Ir ir;
    GraphOpBuilder at(ir.main());
    return at.emit(row, arguments(row, s, [&](Array a) { return at.constant(std::move(a)); })).at(0).shape();
  } catch (const Error&) {
    return {};
  }
}

Sample convolution_gradient(Draw& d, bool of_data) {
  Windows w = windows(d, true);
  const int64_t groups = d.between(1, 2), cin = d.between(1, 3), cout = d.between(1, 3), batch = d.between(1, 2);
  w.attrs["groups"] = groups;
  const Shape data = concatenated({batch, groups * cin}, w.data), weight = concatenated({groups * cout, cin}, w.kernel);
  const auto y =
      inferred("conv", {{Array::zeros(DType::float32, data), Array::zeros(DType::float32, weight)}, w.attrs});
  w.attrs[of_data ? "shape" : "kernel"] = of_data ? w.data : w.kernel;
  return {{d.values(y.value_or(data)), d.values(of_data ? weight : data)}, w.attrs};
}

Windows pool_windows(Draw& d) {
  Windows w = windows(d, false);
  w.attrs["kernel_size"] = w.kernel;
  w.attrs["auto_pad"] = pad_type(d, w);
  w.attrs["ceil_mode"] = d.coin();
  if (d.below(3) == 0) w.attrs["in_dilations"] = Ints(w.data.size(), 2);
  if (d.below(3) == 0) w.attrs["out_pads"] = Ints(2 * w.data.size(), 1);
  return w;
}

Sample pool(Draw& d, bool average) {
  Windows w = pool_windows(d);
  if (average)
    w.attrs["count_include_pad"] = d.coin();
  else
    w.attrs["storage_order"] = d.one_of<std::string>({"row", "column"});
  return {{d.values(concatenated({d.between(1, 2), d.between(1, 2)}, w.data))}, w.attrs};
}

Sample pool_gradient(Draw& d, bool pick) {
  const Windows w = pool_windows(d);
  const Array x = d.values(concatenated({d.between(1, 2), 2}, w.data));
  const auto y = inferred("max_pool", {{Array::zeros(DType::float32, x.shape())}, w.attrs});
  return {{d.values(pick ? x.shape() : y.value_or(x.shape())), x}, w.attrs};
}

Sample average_gradient(Draw& d) {
  Windows w = pool_windows(d);
  w.attrs["count_include_pad"] = d.coin();
  const Shape x = concatenated({2, 1}, w.data);
  const auto y = inferred("average_pool", {{Array::zeros(DType::float32, x)}, w.attrs});
  w.attrs["shape"] = x;
  return {{d.values(y.value_or(x))}, w.attrs};
}

Sample blocks(Draw& d, bool to_space) {
  const int64_t b = 1 + d.below(3), n = d.below(3), c = 1 + d.below(3), h = d.below(4), w = 1 + d.below(4);
  const Shape s = to_space ? Shape{n, c * b * b, h, w} : Shape{n, c, h * b, w * b};
  return {{d.values(s)}, {{"blocksize", b}, {"mode", d.one_of<std::string>({"DCR", "CRD"})}}};
}

std::map<std::string, Attr> interpolation(Draw& d, size_t rank) {
  std::vector<double> scales;
  for (size_t i = 0; i < rank; ++i) scales.push_back(d.one_of<double>({1, 1, 2, 1.5, 0.6, 3}));
  std::map<std::string, Attr> attrs{
      {"mode", d.one_of<std::string>({"nearest", "linear", "cubic"})},
      {"nearest_mode", d.one_of<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})},
      {"coordinate_transformation_mode", d.one_of<std::string>({"half_pixel", "pytorch_half_pixel", "align_corners",
                                                                "asymmetric", "tf_crop_and_resize"})}};
  if (d.below(8) != 0) attrs["scale_factor"] = scales;
  return attrs;
}

Sample interpolation_gradient(Draw& d) {
  const Shape x = d.shape(1, 3);
  auto attrs = interpolation(d, x.size());
  const auto y = inferred("interpolate", {{Array::zeros(DType::float32, x)}, attrs});
  attrs["shape"] = x;
  return {{d.values(y.value_or(x))}, attrs};
}

Sample regions(Draw& d, bool gradient) {
  const Shape data{d.between(1, 3), d.between(1, 2), d.between(1, 6), d.between(1, 6)};
  const int64_t n = d.between(0, 3);
  const Ints out{d.between(1, 3), d.between(1, 3)};
  Array rois(DType::float64, {n, 4});
  for (int64_t i = 0; i < 4 * n; ++i) rois.mutable_data<double>()[i] = i % 4 < 2 ? d.uniform(-2, 3) : d.uniform(2, 9);
  Sample s{{gradient ? d.values({n, data[1], out[0], out[1]}) : d.values(data),
            is_floating(d.dtype) ? rois.cast(d.dtype) : rois, d.indices({n}, data[0])},
           {{"output_size", out}, {"spatial_scale", d.one_of<double>({1.0, 0.5})}, {"sampling_ratio", d.below(4)}}};
  if (gradient) s.attrs["shape"] = data;
  return s;
}

// Positions from inside the images to one and a half times their extent.
Sample sampled_images(Draw& d) {
  const Shape images{d.between(1, 2), d.between(1, 2), d.between(1, 5), d.between(1, 5)};
  Array grid(DType::float64, {images[0], d.between(1, 3), d.between(1, 3), 2});
  for (int64_t i = 0; i < grid.size(); ++i) grid.mutable_data<double>()[i] = d.uniform(-1.5, 1.5);
  return {{d.values(images), is_floating(d.dtype) ? grid.cast(d.dtype) : grid},
          {{"mode", d.one_of<std::string>({"bilinear", "nearest", "bicubic"})},
           {"padding_mode", d.one_of<std::string>({"zeros", "border", "reflection"})},
           {"align_corners", d.below(2) == 1}}};
}

}  // namespace

void add_window_draws(Families& m) {
  m["conv"] = [](Draw& d) { return convolution(d, false, false); };
  m["conv_integer"] = [](Draw& d) { return convolution_of_bytes(d); };
  m["conv_pow2scaled"] = [](Draw& d) { return convolution(d, false, true); };
  m["conv_transpose"] = [](Draw& d) { return convolution(d, true, false); };
  m["conv_transpose_pow2scaled"] = [](Draw& d) { return convolution(d, true, true); };
  m["conv_data_grad"] = [](Draw& d) { return convolution_gradient(d, true); };
  m["conv_weights_grad"] = [](Draw& d) { return convolution_gradient(d, false); };
  m["max_pool"] = [](Draw& d) { return pool(d, false); };
  m["average_pool"] = [](Draw& d) { return pool(d, true); };
  m["max_pool_grad"] = [](Draw& d) { return pool_gradient(d, false); };
  m["max_pool_pick"] = [](Draw& d) { return pool_gradient(d, true); };
  m["average_pool_grad"] = average_gradient;
  m["interpolate"] = [](Draw& d) {
    const Shape s = d.shape(1, 3);
    return Sample{{d.values(s)}, interpolation(d, s.size())};
  };
  m["interpolate_grad"] = interpolation_gradient;
  m["depth_to_space"] = [](Draw& d) { return blocks(d, true); };
  m["space_to_depth"] = [](Draw& d) { return blocks(d, false); };
  m["grid_sample"] = sampled_images;
  m["roi_align"] = [](Draw& d) { return regions(d, false); };
  m["roi_align_grad"] = [](Draw& d) { return regions(d, true); };
}

}  // namespace pxl::test
