// Samples of normalisation, losses, optimisers and random numbers.
#include "samples.hpp"

namespace pxl::test {

Samples::Rows Samples::learning() const {
  return {
      PXL_SAMPLE("rotary_pos_embed",
                 Sample{{x({1, 2, 2, 6}), x({2, 2}, 1), x({2, 2}, 2)}, {{"rotary_dim", int64_t{4}}}}),
      PXL_SAMPLE("trig_tables", Sample{{}, {{"seq_len", int64_t{3}}, {"rotary_dim", int64_t{4}}}}),
      PXL_SAMPLE("softmax", Sample{{x(m)}, {{"axis", int64_t{-1}}}}),
      PXL_SAMPLE("log_softmax", Sample{{x(m)}, {{"axis", int64_t{0}}}}),
      PXL_SAMPLE("softmax_grad log_softmax_grad", Sample{{x(m), x(m, 1)}, {{"axis", int64_t{-1}}}}),
      PXL_SAMPLE("dot_product_attention", Sample{{x({2, 3, 4}), x({2, 5, 4}, 1), x({2, 5, 2}, 2), ints({1}, {4})}}),
      PXL_SAMPLE("group_norm group_normalization",
                 Sample{{x({2, 4, 3}), x({4}, 1), x({4}, 2)}, {{"num_groups", int64_t{2}}}}),
      PXL_SAMPLE("layer_norm layer_normalization", Sample{{x({2, 4}), x({4}, 1), x({4}, 2)}}),
      PXL_SAMPLE("group_normalization_grad",
                 Sample{{x({2, 4}), x({2, 4}, 1), x({4}), numbers(statistics(), {4}, 1), numbers(statistics(), {4}, 2)},
                        {{"num_groups", int64_t{2}}}}),
      PXL_SAMPLE("layer_normalization_grad", Sample{{x({2, 4}), x({2, 4}, 1), x({4}), numbers(statistics(), {2}, 1),
                                                     numbers(statistics(), {2}, 2)}}),
      PXL_SAMPLE("batch_norm_inference", Sample{{x({2, 3}), x({3}, 1), x({3}, 2), x({3}, 3), x({3}, 4)}}),
      PXL_SAMPLE("group_quantize_decompress", Sample{{cycle(DType::uint8, {3, 2}, 200), x({3, 2}), x({3, 2}, 1)}}),
      PXL_SAMPLE("batch_statistics", Sample{{x({4, 3, 2})}}),
      PXL_SAMPLE("batch_norm_grad_sums", Sample{{x({4, 3, 2}), x({4, 3, 2}, 1), x({3}, 2)}}),
      PXL_SAMPLE("batch_norm", Sample{{x({4, 3, 2}), x({3}, 1), x({3}, 2), x({3}, 3), x({3}, 4)}}),
      PXL_SAMPLE("nll_loss nll_loss_with_softmax_grad cross_entropy cross_entropy_with_grad",
                 Sample{{x(m), whole({2}, 3)}}),
      PXL_SAMPLE("nll_grad", Sample{{x({}), x(m), whole({2}, 3)}}),
      PXL_SAMPLE("nll_loss_with_softmax_grad_direct", Sample{{x(m), whole({2}, 3), numbers(DType::float32, {}, 0)}}),
      PXL_SAMPLE("random_uniform random_normal", Sample{{seed()}, {{"shape", Ints{2, 3}}}}),
      PXL_SAMPLE("dropout dropout_grad", Sample{{x(m), seed()}, {{"p", 0.5}}}),
      PXL_SAMPLE("shaped_dropout shaped_dropout_grad", Sample{{x(m), seed()}, {{"shape", Ints{2, 1}}, {"ratio", 0.5}}}),
      PXL_SAMPLE("modify_random_seed", Sample{{seed(), array<uint32_t>({}, {3})}}),
      PXL_SAMPLE("split_random_seed", Sample{{seed()}}),
      PXL_SAMPLE("adam_update", Sample{{{}, x(m), x(m, 1)}}),
      PXL_SAMPLE("adamax_updater", Sample{{x(m), x(m, 1), {}, numbers(DType::float32, {}, 0)}}),
      PXL_SAMPLE("adam_var_update",
                 Sample{{x(m), x(m, 1), numbers(DType::float32, {}, 0), numbers(DType::float32, {}, 1)}}),
      PXL_SAMPLE("init", Sample{{}, {{"shape", Ints{2, 3}}}}),
  };
}

}  // namespace pxl::test
