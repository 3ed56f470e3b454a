#include "runtime/tiles/parts/receptive_field.hpp"

#include <algorithm>

#include "runtime/tiles/costs/cost.hpp"

namespace pxl::tiles {

int64_t SlidingWindows::kernel_size() const {
  int64_t n = 1;
  for (const int64_t k : kernel) n = saturating_product(n, k);
  return std::max<int64_t>(1, n);
}

int64_t SlidingWindows::needed(size_t i, int64_t extent) const {
  const int64_t reach = saturating_product(kernel[i] - 1, dilation[i]);
  // Windows that do not touch each other leave elements between them unread.
  const int64_t all = transposed ? div_up(extent + reach, stride[i])
                                 : std::min(saturating_product(extent - 1, stride[i]) + reach + 1,
                                            saturating_product(extent, kernel[i]));
  return std::clamp<int64_t>(all, 1, std::max<int64_t>(1, from[i]));
}

int64_t SlidingWindows::needed(const std::vector<int64_t>& block) const {
  int64_t n = 1;
  for (size_t i = 0; i < block.size(); ++i) n = saturating_product(n, needed(i, block[i]));
  return n;
}

int64_t SlidingWindows::covered(const std::vector<int64_t>& block) const {
  int64_t n = 1;
  for (size_t i = 0; i < block.size(); ++i)
    n = saturating_product(
        n, transposed ? std::min(block[i], saturating_product(div_up(block[i], stride[i]), kernel[i])) : block[i]);
  return n;
}

int64_t SlidingWindows::windows(const std::vector<int64_t>& block) const {
  int64_t n = 1;
  for (size_t i = 0; i < block.size(); ++i)
    n = saturating_product(n, transposed ? std::max<int64_t>(1, div_up(block[i], stride[i])) : block[i]);
  return n;
}

std::vector<int64_t> per_axis(const OpContext& site, std::string_view param, size_t axes, int64_t fallback) {
  std::vector<int64_t> values(axes, fallback);
  for (size_t i = 0; i < site.row.params.size() && i < site.attrs.size(); ++i) {
    if (site.row.params[i].name != param) continue;
    std::vector<int64_t> given;
    if (const auto* one = std::get_if<int64_t>(&site.attrs[i])) given = {*one};
    if (const auto* many = std::get_if<std::vector<int64_t>>(&site.attrs[i])) given = *many;
    for (size_t k = 0; k < axes && !given.empty(); ++k)
      values[k] = std::max<int64_t>(1, given[given.size() == 1 ? 0 : std::min(k, given.size() - 1)]);
  }
  return values;
}

std::vector<int64_t> spatial(const Shape& shape) {
  return shape.size() > 2 ? std::vector<int64_t>(shape.begin() + 2, shape.end()) : std::vector<int64_t>{};
}

}  // namespace pxl::tiles
