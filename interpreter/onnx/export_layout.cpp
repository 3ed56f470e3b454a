// ONNX forms of ops that move elements.
#include <limits>

#include "interpreter/onnx/exporter.hpp"

namespace pxl::onnx {

namespace {

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

// ONNX Runtime's OneHot takes indices and depth as int64, and values as float32 or int64. Other values are gathered.
Texts one_hot(const ExportSite& s) {
  const bool direct = s.dtype(1) == DType::float32 || s.dtype(1) == DType::int64;
  const std::string depth = s.e.initialiser("depth", Array::scalar<int64_t>(s.c.integer("num_classes")));
  const std::string hot =
      s.e.add("OneHot", {s.e.cast(s.in[0], DType::int64), depth, direct ? s.in[1] : s.e.ints({0, 1})},
              {attribute("axis", s.axis("axis", 1))});
  return one(direct ? hot : s.e.add("Gather", {s.in[1], hot}));
}

const ExportRow layout_rows[] = {
    {"topk", [](const ExportSite& s) { return ordered(s, s.c.integer("k"), s.c.boolean("largest")); }, bool_as_uint8},
    {"sort",
     [](const ExportSite& s) {
       return ordered(s, s.shape()[static_cast<size_t>(s.axis())], s.c.boolean("descending"));
     },
     bool_as_uint8},
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
       return one(s.e.add("Pad", {s.in[0], s.e.ints(s.c.integers("padding")), s.element("value")}));
     }},
    {"slice_window",
     [](const ExportSite& s) {
       const Ints starts = s.c.integers("starts"), steps = s.c.integers("steps"), sizes = s.c.integers("sizes");
       Ints ends;
       for (size_t i = 0; i < starts.size(); ++i) {
         int64_t end = starts[i] + steps[i] * sizes[i];
         // The end is before the first element, since -1 would mean the last element.
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
    {"take_along",
     [](const ExportSite& s) { return one(s.e.add("GatherElements", s.in, {attribute("axis", s.axis())})); }},
    {"scatter",
     [](const ExportSite& s) { return one(s.e.add("ScatterElements", s.in, {attribute("axis", s.axis())})); }},
    {"onehot", one_hot},
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
};

}  // namespace

std::span<const ExportRow> layout_forms() { return layout_rows; }

}  // namespace pxl::onnx
