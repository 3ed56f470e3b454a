// Inference of ResNet-50 (He et al. 2015) in float16. Strides are in the 3 x 3 convolutions, as in version 1.5. Partial
// sums are float16, images have one byte an element, and normalisations are folded into the convolutions.
#include <map>

#include "runtime/base/never_destroyed.hpp"
#include "tests/model/published/published_builders.hpp"
#include "tests/model/published/published_programs.hpp"

namespace pxl::tiles {

using namespace published;

namespace {

/// Convolution with padding that keeps the field, and a bias per channel.
Tensor* biased_convolution(Ir& ir, Tensor* x, int64_t channels, int64_t kernel, int64_t stride) {
  Tensor* weight = variable(ir, {channels, x->spec.shape[1], kernel, kernel}, DType::float16);
  x = op("conv", {x, weight}, {{"stride", Ints{stride, stride}}, {"padding", Ints(4, kernel / 2)}});
  return op("add", {x, variable(ir, {1, channels, 1, 1}, DType::float16)});
}

Tensor* bottleneck(Ir& ir, Tensor* x, int64_t width, int64_t stride) {
  Tensor* y = op("relu", {biased_convolution(ir, x, width, 1, 1)});
  y = op("relu", {biased_convolution(ir, y, width, 3, stride)});
  y = biased_convolution(ir, y, 4 * width, 1, 1);
  if (x->spec.shape != y->spec.shape) x = biased_convolution(ir, x, 4 * width, 1, stride);
  return op("relu", {op("add", {y, x})});
}

Report resnet(int64_t batch) {
  Ir ir;
  Tensor* x = op("cast", {from_host(ir, {batch, 3, 224, 224}, DType::uint8)}, {{"data_type", DType::float16}});
  x = op("relu", {biased_convolution(ir, x, 64, 7, 2)});
  x = op("max_pool", {x}, {{"kernel_size", Ints{3, 3}}, {"stride", Ints{2, 2}}, {"padding", Ints(4, 1)}});
  constexpr int64_t blocks[] = {3, 4, 6, 3};
  for (size_t stage = 0; stage < std::size(blocks); ++stage)
    for (int64_t i = 0; i < blocks[stage]; ++i)
      x = bottleneck(ir, x, int64_t{64} << stage, i == 0 && stage > 0 ? 2 : 1);
  x = op("mean", {x}, {{"axis", Ints{2, 3}}});
  x = op("matmul", {x, variable(ir, {2048, 1000}, DType::float16)});
  to_host(ir, op("add", {x, variable(ir, {1000}, DType::float16)}));
  return report(ir.main(), "mk2", true);
}

}  // namespace

const Report& published_resnet(int64_t batch) {
  static auto& reports = never_destroyed(std::map<int64_t, Report>());
  const auto found = reports.find(batch);
  return found != reports.end() ? found->second : reports.emplace(batch, resnet(batch)).first->second;
}

}  // namespace pxl::tiles
