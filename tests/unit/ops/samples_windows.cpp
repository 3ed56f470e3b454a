// Samples of ops with spatial axes.
#include "samples.hpp"

namespace pxl::test {

Samples::Rows Samples::windows() const {
  return {
      PXL_SAMPLE("grid_sample", Sample{{x({1, 2, 4, 5}), x({1, 3, 2, 2}, 1)}}),
      PXL_SAMPLE("conv_pow2scaled", Sample{{f8({2, 2, 5}), f8({3, 2, 2}, 1), scale()}}),
      PXL_SAMPLE("conv_transpose_pow2scaled", Sample{{f8({2, 3, 4}), f8({3, 2, 2}, 1), scale()}}),
      PXL_SAMPLE("lrn", Sample{{x({2, 5, 3})}, {{"size", int64_t{4}}, {"alpha", 0.8}, {"beta", 0.6}, {"bias", 1.5}}}),
      PXL_SAMPLE("conv", biased({{x({2, 4, 5, 4}), x({6, 2, 3, 2}, 1)},
                                 {{"stride", Ints{2, 1}}, {"padding", Ints{1, 0, 0, 1}}, {"groups", int64_t{2}}}})),
      PXL_SAMPLE("conv_data_grad", Sample{{x({2, 3, 3}), x({3, 2, 2}, 1)},
                                          {{"shape", Ints{6}},
                                           {"stride", Ints{2}},
                                           {"padding", Ints{0, 0}},
                                           {"dilation", Ints{1}},
                                           {"groups", int64_t{1}}}}),
      PXL_SAMPLE("conv_weights_grad", Sample{{x({2, 3, 3}), x({2, 2, 6}, 1)},
                                             {{"kernel", Ints{2}},
                                              {"stride", Ints{2}},
                                              {"padding", Ints{0, 0}},
                                              {"dilation", Ints{1}},
                                              {"groups", int64_t{1}}}}),
      PXL_SAMPLE("conv_transpose", biased({{x({2, 4, 3, 2}), x({4, 3, 3, 2}, 1)},
                                           {{"stride", Ints{2, 1}},
                                            {"padding", Ints{1, 0, 1, 0}},
                                            {"output_padding", Ints{1, 0}},
                                            {"groups", int64_t{2}}}})),
      PXL_SAMPLE("max_pool", Sample{{x({2, 2, 5, 4})},
                                    {{"kernel_size", Ints{3, 2}}, {"stride", Ints{2, 1}}, {"padding", Ints{1}}}}),
      PXL_SAMPLE("max_pool_grad",
                 Sample{{x({1, 2, 2}, 1), x({1, 2, 5})}, {{"kernel_size", Ints{2}}, {"stride", Ints{2}}}}),
      PXL_SAMPLE("max_pool_pick",
                 Sample{{x({1, 2, 5}, 1), x({1, 2, 5})}, {{"kernel_size", Ints{2}}, {"stride", Ints{2}}}}),
      PXL_SAMPLE(
          "average_pool",
          Sample{{x({2, 2, 5, 4})},
                 {{"kernel_size", Ints{3, 2}}, {"stride", Ints{2, 1}}, {"padding", Ints{1}}, {"ceil_mode", true}}}),
      PXL_SAMPLE("average_pool_grad",
                 Sample{{x({1, 2, 2})}, {{"shape", Ints{1, 2, 5}}, {"kernel_size", Ints{2}}, {"stride", Ints{2}}}}),
      PXL_SAMPLE("global_max_pool", Sample{{x({2, 3, 4})}}),
      PXL_SAMPLE("global_average_pool", Sample{{x({2, 3, 4, 2})}}),
      PXL_SAMPLE("depth_to_space", Sample{{x({1, 8, 2, 1})}, {{"blocksize", int64_t{2}}}}),
      PXL_SAMPLE("space_to_depth",
                 Sample{{x({1, 2, 2, 4})}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}}}),
      PXL_SAMPLE("interpolate",
                 Sample{{x({1, 2, 3, 4})},
                        {{"scale_factor", std::vector<double>{1, 1, 2, 1.5}}, {"mode", std::string("linear")}}}),
      PXL_SAMPLE("interpolate_grad", Sample{{x({1, 6, 6})},
                                            {{"shape", Ints{1, 3, 4}},
                                             {"scale_factor", std::vector<double>{1, 2, 1.5}},
                                             {"mode", std::string("cubic")}}}),
      PXL_SAMPLE(
          "roi_align",
          Sample{{x({2, 2, 4, 5}), floats({2, 4}, {0.5F, 0.25F, 3, 3.5F, -1, 1, 4, 2}).cast(dtype), ints({2}, {1, 0})},
                 {{"output_size", Ints{2, 2}}, {"spatial_scale", 1.0}, {"sampling_ratio", int64_t{2}}}}),
      PXL_SAMPLE(
          "roi_align_grad",
          Sample{{x({2, 2, 2, 2}), floats({2, 4}, {0.5F, 0.25F, 3, 3.5F, -1, 1, 4, 2}).cast(dtype), ints({2}, {1, 0})},
                 {{"output_size", Ints{2, 2}},
                  {"spatial_scale", 1.0},
                  {"sampling_ratio", int64_t{2}},
                  {"shape", Ints{2, 2, 4, 5}}}}),
  };
}

}  // namespace pxl::test
