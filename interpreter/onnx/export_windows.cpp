// ONNX forms of ops that read elements through windows.
#include "interpreter/onnx/exporter.hpp"

namespace pxl::onnx {

namespace {

Ints spatial(const ExportSite& s, std::string_view param, int64_t each, size_t copies = 1) {
  const size_t n = (s.shape().size() - 2) * copies;
  if (s.c.is_none(param)) return Ints(n, each);
  Ints given = s.c.integers(param);
  if (given.size() == 1) given.assign(n, given.front());
  return given;
}
std::string auto_pad(const std::string& given) {
  return given == "same_upper"   ? "SAME_UPPER"
         : given == "same_lower" ? "SAME_LOWER"
         : given == "valid"      ? "VALID"
                                 : "NOTSET";
}
std::vector<Attribute> window(const ExportSite& s, std::string_view pad_type, bool dilated = true) {
  std::vector<Attribute> a{attribute("strides", spatial(s, "stride", 1))};
  if (dilated) a.push_back(attribute("dilations", spatial(s, "dilation", 1)));
  const std::string pad = auto_pad(s.c.string(pad_type));
  if (pad == "NOTSET")
    a.push_back(attribute("pads", spatial(s, "padding", 0, 2)));
  else
    a.push_back(attribute("auto_pad", pad));
  return a;
}
void need_none(const ExportSite& s, std::initializer_list<std::string_view> params) {
  for (std::string_view p : params)
    if (!s.c.is_none(p)) throw NoForm{std::string(p) + " has no form in ONNX"};
}

/// Data, weights, and the bias if there is one.
Texts conv_operands(const ExportSite& s) {
  Texts in = s.in;
  if (!s.c.has(2)) in.resize(2);
  return in;
}

/// Attributes of a convolution's window. ONNX derives the kernel's extents from the weights if they are not stated, but
/// some readers do not.
std::vector<Attribute> kernel_window(const ExportSite& s) {
  std::vector<Attribute> a = window(s, "pad_type");
  const Shape& weight = s.shape(1);
  a.push_back(attribute("kernel_shape", Ints(weight.begin() + 2, weight.end())));
  return a;
}

Texts conv_node(const ExportSite& s) {
  std::vector<Attribute> a = kernel_window(s);
  a.push_back(attribute("group", s.c.integer("groups")));
  return one(s.e.add("Conv", conv_operands(s), a, 1, s.op.outputs[0]->name));
}

Texts conv_integer_node(const ExportSite& s) {
  std::vector<Attribute> a = kernel_window(s);
  a.push_back(attribute("group", s.c.integer("groups")));
  return one(s.e.add("ConvInteger", s.in, a));
}

Texts resized(const ExportSite& s) {
  const std::string coordinates = s.c.string("coordinate_transformation_mode");
  if (coordinates == "tf_crop_and_resize") throw NoForm{"a crop of the whole image is none in ONNX"};
  std::vector<float> scales;
  if (s.c.is_none("scale_factor"))
    scales.assign(s.shape().size(), 1);
  else
    for (double v : std::get<std::vector<double>>(s.c.attr("scale_factor"))) scales.push_back(static_cast<float>(v));
  const std::string factors =
      s.e.initialiser("scales", Array::from<float>({static_cast<int64_t>(scales.size())}, scales));
  return one(s.e.add("Resize", {s.in[0], "", factors},
                     {attribute("mode", s.c.string("mode")), attribute("nearest_mode", s.c.string("nearest_mode")),
                      attribute("coordinate_transformation_mode", coordinates)}));
}

const ExportRow window_rows[] = {
    {"conv", conv_node},
    {"conv_integer", conv_integer_node},
    {"conv_transpose",
     [](const ExportSite& s) {
       need_none(s, {"output_shape"});
       if (auto_pad(s.c.string("pad_type")) != "NOTSET") throw NoForm{"pad_type has no form in ONNX"};
       std::vector<Attribute> a = kernel_window(s);
       a.push_back(attribute("group", s.c.integer("groups")));
       if (!s.c.is_none("output_padding")) a.push_back(attribute("output_padding", spatial(s, "output_padding", 0)));
       return one(s.e.add("ConvTranspose", conv_operands(s), a));
     }},
    {"max_pool",
     [](const ExportSite& s) {
       need_none(s, {"out_pads", "in_dilations"});
       std::vector<Attribute> a = window(s, "auto_pad");
       a.push_back(attribute("kernel_shape", spatial(s, "kernel_size", 1)));
       a.push_back(attribute("ceil_mode", int64_t{s.c.boolean("ceil_mode")}));
       return one(s.e.add("MaxPool", {s.in[0]}, a));
     }},
    {"average_pool",
     [](const ExportSite& s) {
       need_none(s, {"out_pads", "in_dilations"});
       for (int64_t d : spatial(s, "dilation", 1))
         if (d != 1) throw NoForm{"dilation has no form in ONNX"};
       std::vector<Attribute> a = window(s, "auto_pad", false);
       a.push_back(attribute("kernel_shape", spatial(s, "kernel_size", 1)));
       a.push_back(attribute("ceil_mode", int64_t{s.c.boolean("ceil_mode")}));
       a.push_back(attribute("count_include_pad", int64_t{s.c.boolean("count_include_pad")}));
       return one(s.e.add("AveragePool", {s.in[0]}, a));
     }},
    {"grid_sample",
     [](const ExportSite& s) {
       return one(s.e.add("GridSample", s.in,
                          {attribute("mode", s.c.string("mode")), attribute("padding_mode", s.c.string("padding_mode")),
                           attribute("align_corners", int64_t{s.c.boolean("align_corners")})}));
     }},
    {"interpolate", resized},
    {"roi_align",
     [](const ExportSite& s) {
       const Ints size = s.c.integers("output_size");
       const std::string images = s.e.cast(s.in[2], DType::int64);
       return one(s.e.add("RoiAlign", {s.in[0], s.in[1], images},
                          {attribute("coordinate_transformation_mode", std::string("output_half_pixel")),
                           attribute("output_height", size[0]), attribute("output_width", size[1]),
                           attribute("sampling_ratio", s.c.integer("sampling_ratio")),
                           attribute("spatial_scale", s.c.number("spatial_scale"))}));
     }},
};

}  // namespace

std::span<const ExportRow> window_forms() { return window_rows; }

}  // namespace pxl::onnx
