// Square blocks of pixels to and from channels. Source: ONNX, operators DepthToSpace and SpaceToDepth.
#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// f(element of the deep tensor [N, C b^2, H, W], element of the wide one [N, C, H b, W b]).
template <class F>
void each_pair(const ReferenceContext& c, const Shape& deep, const Shape& wide, F f) {
  const int64_t b = c.integer("blocksize");
  const bool by_channel = c.site().string("mode") == "CRD";
  for (Place p(wide); p; p.next()) {
    const int64_t pixel = p[2] % b * b + p[3] % b;
    const int64_t channel = by_channel ? p[1] * b * b + pixel : pixel * wide[1] + p[1];
    f(offset({p[0], channel, p[2] / b, p[3] / b}, deep), p.index());
  }
}

}  // namespace

void depth_to_space(ReferenceContext& c) {
  const Patterns t = c.pattern(0);
  Patterns y = Patterns::from_shape(extents(c.out_shape()));
  each_pair(c, c.shape(0), c.out_shape(), [&](int64_t deep, int64_t wide) { y.data()[wide] = t.data()[deep]; });
  c.move(0, y);
}
void space_to_depth(ReferenceContext& c) {
  const Patterns t = c.pattern(0);
  Patterns y = Patterns::from_shape(extents(c.out_shape()));
  each_pair(c, c.out_shape(), c.shape(0), [&](int64_t deep, int64_t wide) { y.data()[deep] = t.data()[wide]; });
  c.move(0, y);
}

}  // namespace pxl::reference
