// Samples of ops that move elements or change shapes, and of medians.
#include "samples.hpp"

namespace pxl::test {

Samples::Rows Samples::shapes() const {
  return {
      PXL_SAMPLE("median median_indices", Sample{{x({2, 3, 2})}, {{"axis", Ints{0, 2}}}}),
      PXL_SAMPLE("reshape", Sample{{x(m)}, {{"shape", Ints{3, -1}}}}),
      PXL_SAMPLE("reshape_", Sample{{x(m)}, {{"shape", Ints{6}}}}),
      PXL_SAMPLE("broadcast_to", Sample{{x({3})}, {{"shape", Ints{2, 3}}}}),
      PXL_SAMPLE("split", Sample{{x({4, 2})}, {{"splits", int64_t{2}}}}),
      PXL_SAMPLE("slice", Sample{{x({4, 3})}, {{"start", Ints{3, 0}}, {"stop", Ints{0, 2}}, {"step", Ints{-2, 1}}}}),
      PXL_SAMPLE("slice_", Sample{{x({4})}, {{"start", int64_t{1}}}}),
      PXL_SAMPLE("slice_window slice_window_",
                 Sample{{x({4})}, {{"starts", Ints{2}}, {"steps", Ints{-1}}, {"sizes", Ints{2}}}}),
      PXL_SAMPLE("slice_grad", Sample{{x({2})}, {{"starts", Ints{2}}, {"steps", Ints{-1}}, {"sizes", Ints{4}}}}),
      PXL_SAMPLE("subsample subsample_", Sample{{x({5, 2})}, {{"strides", Ints{2}}}}),
      PXL_SAMPLE("squeeze", Sample{{x({1, 3, 1})}}),
      PXL_SAMPLE("pad", Sample{{x(m)}, {{"padding", Ints{1, 0, 2, 1}}, {"value", element(0.5, 1)}}}),
      PXL_SAMPLE("roll", Sample{{x({2, 5})}, {{"shift", int64_t{-2}}, {"axis", int64_t{1}}}}),
      PXL_SAMPLE("tile", Sample{{x(m)}, {{"repeats", Ints{2, 3}}}}),
  };
}

}  // namespace pxl::test
