#include "runtime/kernels/convolution/ways.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pxl {
namespace {

constexpr ConvolutionWay way_table[] = {
#define PXL_CONVOLUTION_WAY(name)                  \
  {#name,                                          \
   {name##_outputs_ns, name##_convolution_kernel}, \
   {name##_data_grad_ns, name##_data_grad_kernel}, \
   {name##_weights_grad_ns, [](const Convolution& c, bool) { return name##_weights_grad_kernel(c); }}},
#include "runtime/kernels/convolution/ways.inc"
#undef PXL_CONVOLUTION_WAY
};

}  // namespace

bool has_windows_of_planes(const Convolution& c) {
  for (const WindowAxis& a : c.axes)
    if (a.in_dilation != 1 || a.in <= 0 || a.out <= 0 || a.kernel <= 0) return false;
  const WindowAxis& depth = c.axes[0];
  return depth.in == 1 && depth.out == 1 && depth.kernel == 1 && depth.padding_before == 0 && c.batch > 0 &&
         c.groups > 0 && c.cin > 0 && c.cout > 0;
}
bool is_planar(const Convolution& c) { return has_windows_of_planes(c) && kernel_size(c.axes) > 1; }

std::span<const ConvolutionWay> convolution_ways() { return way_table; }

Kernel fastest_kernel(const ConvolutionPass ConvolutionWay::*pass, const Convolution& c, bool bias) {
  std::vector<std::pair<double, const ConvolutionPass*>> supported;
  for (const ConvolutionWay& way : way_table)
    if (const double ns = (way.*pass).ns(c); ns < std::numeric_limits<double>::infinity())
      supported.emplace_back(ns, &(way.*pass));
  std::stable_sort(supported.begin(), supported.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [ns, way] : supported)
    if (std::optional<Kernel> kernel = way->make(c, bias)) return *std::move(kernel);
  throw std::logic_error("no way computes a convolution");
}

}  // namespace pxl
