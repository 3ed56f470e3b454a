// Forms of ops that move elements, and of those that see them through windows.
#include <limits>

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

Texts ordered(const ExportSite& s, int64_t k, bool largest) {
  const Texts out =
      s.e.several("TopK", {s.in[0], s.e.ints({k})},
                  {attribute("axis", s.axis()), attribute("largest", int64_t{largest})}, {"values", "indices"});
  return {out[0], as_int32(s, out[1]).front()};
}
Texts reshaped(const ExportSite& s) { return one(s.e.add("Reshape", {s.in[0], s.e.ints(s.out_shape())})); }
Texts slice_form(const ExportSite& s, const Ints& starts, const Ints& ends, const Ints& steps) {
  Ints axes;
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return one(s.e.add("Slice", {s.in[0], s.e.ints(starts), s.e.ints(ends), s.e.ints(axes), s.e.ints(steps)}));
}

const ExportRow layout_rows[] = {
    {"topk", [](const ExportSite& s) { return ordered(s, s.c.integer("k"), s.c.boolean("largest")); }},
    {"sort",
     [](const ExportSite& s) {
       return ordered(s, s.shape()[static_cast<size_t>(s.axis())], s.c.boolean("descending"));
     }},
    {"conv",
     [](const ExportSite& s) {
       std::vector<Attribute> a = window(s, "pad_type");
       a.push_back(attribute("group", s.c.integer("groups")));
       return one(s.e.add("Conv", {s.in[0], s.in[1]}, a));
     }},
    {"conv_transpose",
     [](const ExportSite& s) {
       need_none(s, {"output_shape"});
       if (auto_pad(s.c.string("pad_type")) != "NOTSET") throw NoForm{"pad_type has no form in ONNX"};
       std::vector<Attribute> a = window(s, "pad_type");
       a.push_back(attribute("group", s.c.integer("groups")));
       if (!s.c.is_none("output_padding")) a.push_back(attribute("output_padding", spatial(s, "output_padding", 0)));
       return one(s.e.add("ConvTranspose", {s.in[0], s.in[1]}, a));
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
    {"reshape", reshaped},
    {"reshape_", reshaped},
    {"squeeze", reshaped},
    {"expand_dims", reshaped},
    {"flatten", reshaped},
    {"transpose",
     [](const ExportSite& s) {
       Ints order = s.c.is_none("permutation") ? Ints() : s.c.integers("permutation");
       for (int64_t& a : order) a = normalise_axis(a, static_cast<int64_t>(s.shape().size()));
       return one(s.e.add("Transpose", {s.in[0]},
                          order.empty() ? std::vector<Attribute>() : std::vector{attribute("perm", order)}));
     }},
    {"broadcast_to",
     [](const ExportSite& s) {
       return one(s.e.add("Expand", {s.in[0], s.e.ints(s.out_shape())}));
     }},
    {"tile",
     [](const ExportSite& s) {
       return one(s.e.add("Tile", {s.in[0], s.e.ints(s.c.integers("repeats"))}));
     }},
    {"pad",
     [](const ExportSite& s) {
       return one(s.e.add("Pad", {s.in[0], s.e.ints(s.c.integers("padding")), s.constant(s.c.number("value"))}));
     }},
    {"slice_window",
     [](const ExportSite& s) {
       const Ints starts = s.c.integers("starts"), steps = s.c.integers("steps"), sizes = s.c.integers("sizes");
       Ints ends;
       for (size_t i = 0; i < starts.size(); ++i) {
         int64_t end = starts[i] + steps[i] * sizes[i];
         // Before the first element; -1 would be the last one.
         if (steps[i] < 0 && end < 0) end = std::numeric_limits<int64_t>::min() / 2;
         ends.push_back(end);
       }
       return slice_form(s, starts, ends, steps);
     }},
    {"subsample",
     [](const ExportSite& s) {
       const Ints steps = s.c.integers("strides");
       Ints ends(s.shape().begin(), s.shape().begin() + static_cast<ptrdiff_t>(steps.size()));
       return slice_form(s, Ints(steps.size(), 0), ends, steps);
     }},
    {"flip",
     [](const ExportSite& s) {
       const Ints axes = s.axes("axes");
       return one(s.e.add("Slice", {s.in[0], s.e.ints(Ints(axes.size(), -1)),
                                    s.e.ints(Ints(axes.size(), std::numeric_limits<int64_t>::min() / 2)),
                                    s.e.ints(axes), s.e.ints(Ints(axes.size(), -1))}));
     }},
    {"concat", [](const ExportSite& s) { return one(s.e.add("Concat", s.in, {attribute("axis", s.axis())})); }},
    {"split",
     [](const ExportSite& s) {
       Ints sizes;
       const int64_t axis = s.axis();
       for (const Tensor* t : s.op.outputs) sizes.push_back(t->spec.shape[static_cast<size_t>(axis)]);
       return s.e.several("Split", {s.in[0], s.e.ints(sizes)}, {attribute("axis", axis)}, Texts(sizes.size(), "split"));
     }},
    {"gather",
     [](const ExportSite& s) {
       if (s.c.boolean("zero_OOR")) throw NoForm{"zero_OOR has no form in ONNX"};
       return one(s.e.add("Gather", {s.in[0], s.in[1]}, {attribute("axis", s.axis())}));
     }},
    {"take_along",
     [](const ExportSite& s) { return one(s.e.add("GatherElements", s.in, {attribute("axis", s.axis())})); }},
    {"scatter",
     [](const ExportSite& s) { return one(s.e.add("ScatterElements", s.in, {attribute("axis", s.axis())})); }},
    {"onehot",
     [](const ExportSite& s) {
       return one(s.e.add(
           "OneHot", {s.in[0], s.e.initialiser("depth", Array::scalar<int64_t>(s.c.integer("num_classes"))), s.in[1]},
           {attribute("axis", s.axis("axis", 1))}));
     }},
    {"init",
     [](const ExportSite& s) {
       const TensorSpec& spec = s.op.outputs[0]->spec;
       return one(s.e.initialiser("zeros", Array::zeros(spec.dtype, spec.shape)));
     }},
    {"depth_to_space",
     [](const ExportSite& s) {
       return one(s.e.add("DepthToSpace", s.in,
                          {attribute("blocksize", s.c.integer("blocksize")), attribute("mode", s.c.string("mode"))}));
     }},
    {"space_to_depth",
     [](const ExportSite& s) {
       if (s.c.string("mode") != "DCR") throw NoForm{"mode CRD has no form in ONNX"};
       return one(s.e.add("SpaceToDepth", s.in, {attribute("blocksize", s.c.integer("blocksize"))}));
     }},
    {"grid_sample",
     [](const ExportSite& s) {
       return one(s.e.add("GridSample", s.in,
                          {attribute("mode", s.c.string("mode")), attribute("padding_mode", s.c.string("padding_mode")),
                           attribute("align_corners", int64_t{s.c.boolean("align_corners")})}));
     }},
};

}  // namespace

std::span<const ExportRow> layout_forms() { return layout_rows; }

}  // namespace pxl::onnx
