// Shape arithmetic with overflow checks; errors name the axis.
#include "runtime/tensor/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/text/join_texts.hpp"

namespace pxl {
namespace {
constexpr int64_t max_elements = int64_t{1} << 48;

std::string short_text(const Shape& shape) {
  if (static_cast<int64_t>(shape.size()) <= max_rank) return bracket_text(shape);
  return fmt::format("[{}, ...]", join_texts(std::span(shape).first(4)));
}
}  // namespace

int64_t element_count(const Shape& shape) {
  if (static_cast<int64_t>(shape.size()) > max_rank)
    throw Error(fmt::format("a tensor has at most {} axes, shape {} has {}", max_rank, short_text(shape), shape.size()))
        .as(codes::shape);
  int64_t product = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) throw Error(fmt::format("shape {} has a negative extent", short_text(shape))).as(codes::shape);
    if (extent == 0) {
      empty = true;
    } else if (product > max_elements / extent) {
      throw Error(fmt::format("shape {} is a tensor larger than memory", short_text(shape))).as(codes::memory);
    } else {
      product *= extent;
    }
  }
  return empty ? 0 : product;
}

std::string tuple_text(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", join_texts(shape, ", "));
}

std::string bracket_text(const Shape& shape) { return fmt::format("[{}]", join_texts(shape, ", ")); }

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t back = 1; back <= out.size(); ++back) {
    int64_t x = back <= a.size() ? a[a.size() - back] : 1;
    int64_t y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1)
      throw Error(fmt::format("shapes {} and {} cannot be broadcast together", short_text(a), short_text(b)),
                  {fmt::format("axis -{} is {} and {}; extents must be equal or 1", back, x, y)})
          .as(codes::shape);
    out[out.size() - back] = x == 1 ? y : x;
  }
  return out;
}

bool broadcastable_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (size_t back = 1; back <= from.size(); ++back) {
    int64_t x = from[from.size() - back];
    if (x != 1 && x != to[to.size() - back]) return false;
  }
  return true;
}

int64_t normalise_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    if (rank == 0) throw Error(fmt::format("axis {} is out of range: a scalar has no axes", axis)).as(codes::shape);
    throw Error(fmt::format("axis {} is out of range for rank {}", axis, rank),
                {fmt::format("axes are 0 to {}, or -{} to -1 from the end", rank - 1, rank)})
        .as(codes::shape);
  }
  return axis < 0 ? axis + rank : axis;
}

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(1, shape[i]);
  }
  return strides;
}

std::string text(const TensorSpec& spec) {
  return fmt::format("{}{}{}", name(spec.dtype), bracket_text(spec.shape),
                     spec.is_shard() ? " of " + bracket_text(spec.meta_shape) : "");
}

std::string spec_key(const TensorSpec& spec) {
  return text(spec) + (spec.is_shard() ? bracket_text(spec.shard_groups) : "");
}

}  // namespace pxl
