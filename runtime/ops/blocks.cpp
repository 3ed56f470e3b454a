// Square blocks of pixels to and from channels.
#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

constexpr Param block_param{"blocksize", ParamKind::integer, no_default, "the side of a block, at least 1"};
constexpr Param arrangement_param{
    "mode", ParamKind::string, of("DCR"),
    "DCR: of a block's channels, those of one pixel are adjacent; CRD: those of one channel"};
constexpr Param to_space_params[] = {
    {"t", ParamKind::tensor, no_default, "[N, C blocksize^2, H, W]"}, block_param, arrangement_param};
constexpr Param to_depth_params[] = {
    {"t", ParamKind::tensor, no_default, "[N, C, H blocksize, W blocksize]"}, block_param, arrangement_param};

bool by_channel(const OpContext& s) {
  const std::string& mode = s.string("mode");
  if (mode != "DCR" && mode != "CRD") refuse(s, fmt::format("mode must be DCR or CRD, not {}", mode));
  return mode == "CRD";
}

int64_t blocksize_of(const OpContext& s) {
  const int64_t b = s.integer("blocksize");
  if (b < 1 || b > (int64_t{1} << 20)) refuse(s, fmt::format("blocksize must be from 1 to 1048576, not {}", b));
  if (rank_of(s.input(0)) != 4)
    refuse(
        s,
        fmt::format("{} must have the axes [N, C, H, W], its shape is {}", s.label(0), bracket_text(s.input(0).shape)),
        codes::shape);
  return b;
}

void check_divides(const OpContext& s, size_t axis, int64_t by) {
  if (s.input(0).shape[axis] % by != 0)
    refuse(s,
           fmt::format("axis {} of {} has {} elements, which {} does not divide", axis, s.label(0),
                       s.input(0).shape[axis], by),
           codes::shape);
}

std::vector<TensorSpec> infer_to_space(const OpContext& s) {
  const int64_t b = blocksize_of(s);
  by_channel(s);
  check_divides(s, 1, b * b);
  const Shape& t = s.input(0).shape;
  const TensorSpec out{{t[0], t[1] / (b * b), t[2] * b, t[3] * b}, s.input(0).dtype, {}};
  prefixed(s, [&] { return element_count(out.shape); });
  return {out};
}

std::vector<TensorSpec> infer_to_depth(const OpContext& s) {
  const int64_t b = blocksize_of(s);
  by_channel(s);
  check_divides(s, 2, b);
  check_divides(s, 3, b);
  const Shape& t = s.input(0).shape;
  return {{{t[0], t[1] * b * b, t[2] / b, t[3] / b}, s.input(0).dtype, {}}};
}

// Both are transpositions of the operand under a shape of six axes.
Kernel to_space(const OpContext& s) {
  const Shape& t = s.input(0).shape;
  const int64_t b = blocksize_of(s), c = s.out[0].shape[1];
  const DType dtype = s.input(0).dtype;
  return by_channel(s) ? transpose_kernel({{t[0], c, b, b, t[2], t[3]}, dtype, {}}, {0, 1, 4, 2, 5, 3})
                       : transpose_kernel({{t[0], b, b, c, t[2], t[3]}, dtype, {}}, {0, 3, 4, 1, 5, 2});
}

Kernel to_depth(const OpContext& s) {
  const Shape& t = s.input(0).shape;
  const int64_t b = blocksize_of(s);
  const Ints order = by_channel(s) ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4};
  return transpose_kernel({{t[0], t[1], t[2] / b, b, t[3] / b, b}, s.input(0).dtype, {}}, order);
}

// Each op moves the elements back to the places from which the other op took them.
template <bool space>
void inverse_gradient(GradContext& c) {
  if (c.wants(0))
    c.set(0, c.builder().one(space ? "space_to_depth" : "depth_to_space", {c.dy()},
                             {{"blocksize", c.site().attr("blocksize")}, {"mode", c.site().attr("mode")}}));
}

constexpr OpRow block_table[] = {
    {.name = "depth_to_space",
     .path = "ops.depth_to_space",
     .schedule = "DepthToSpace",
     .output = "depth_to_space_out",
     .doc = "Channels become square blocks of pixels: [N, C b^2, H, W] to [N, C, H b, W b]. Mode CRD has the order of "
            "PyTorch's pixel_shuffle.",
     .example = "depth_to_space(array([[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]]), 2)",
     .params = to_space_params,
     .infer = infer_to_space,
     .definition = reference::depth_to_space,
     .kernel = to_space,
     .gradient = inverse_gradient<true>,
     .pattern = Pattern::movement,
     .onnx = "DepthToSpace",
     .tiles = tile_movement},
    {.name = "space_to_depth",
     .path = "ops.space_to_depth",
     .schedule = "SpaceToDepth",
     .output = "space_to_depth_out",
     .doc = "Square blocks of pixels become channels: [N, C, H b, W b] to [N, C b^2, H, W]. Mode CRD has the order of "
            "PyTorch's pixel_unshuffle.",
     .example = "space_to_depth(array([[[[1.0, 2.0], [3.0, 4.0]]]]), 2)",
     .params = to_depth_params,
     .infer = infer_to_depth,
     .definition = reference::space_to_depth,
     .kernel = to_depth,
     .gradient = inverse_gradient<false>,
     .pattern = Pattern::movement,
     .onnx = "SpaceToDepth",
     .tiles = tile_movement},
};
static_assert(all_complete(block_table));

}  // namespace

std::span<const OpRow> block_rows() { return block_table; }

}  // namespace pxl
