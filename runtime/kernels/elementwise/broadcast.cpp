#include "runtime/kernels/elementwise/broadcast.hpp"

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

Shape broadcast_strides(const Shape& from, const Shape& to) {
  const auto refuse = [&] {
    throw Error("shape " + bracket_text(from) + " cannot be broadcast to " + bracket_text(to)).as(codes::shape);
  };
  if (from.size() > to.size()) refuse();
  const size_t lead = to.size() - from.size();
  Shape strides(to.size(), 0);
  int64_t stride = 1;
  for (size_t i = from.size(); i-- > 0;) {
    if (from[i] != to[lead + i] && from[i] != 1) refuse();
    strides[lead + i] = from[i] == 1 ? 0 : stride;
    stride *= from[i];
  }
  return strides;
}

LoopNest make_loop_nest(const Shape& extents, const std::vector<Shape>& strides) {
  LoopNest nest;
  nest.strides.resize(strides.size());
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) continue;
    bool merge = !nest.extents.empty();
    for (size_t k = 0; merge && k < strides.size(); ++k) {
      merge = nest.strides[k].back() == strides[k][d] * extents[d];
    }
    if (merge) {
      nest.extents.back() *= extents[d];
      for (size_t k = 0; k < strides.size(); ++k) nest.strides[k].back() = strides[k][d];
    } else {
      nest.extents.push_back(extents[d]);
      for (size_t k = 0; k < strides.size(); ++k) nest.strides[k].push_back(strides[k][d]);
    }
  }
  if (nest.extents.empty()) {
    nest.extents.push_back(1);
    for (Shape& s : nest.strides) s.push_back(0);
  }
  return nest;
}

LoopNest without_innermost(LoopNest nest) {
  nest.extents.pop_back();
  for (Shape& strides : nest.strides) strides.pop_back();
  if (!nest.extents.empty()) return nest;
  nest.extents = {1};
  for (Shape& strides : nest.strides) strides = {0};
  return nest;
}

LoopNest broadcast_loop_nest(const std::vector<Shape>& operands, const Shape& out) {
  std::vector<Shape> strides;
  for (const Shape& s : operands) strides.push_back(broadcast_strides(s, out));
  return make_loop_nest(out, strides);
}

}  // namespace pxl
