// Samples of normalisation, losses, optimisers and random numbers.
#include "samples.hpp"

namespace pxl::test {

Samples::Rows Samples::learning() const {
  return {
      {"rotary_pos_embed",
       [&] {
         return Sample{{x({1, 2, 2, 6}), x({2, 2}, 1), x({2, 2}, 2)}, {{"rotary_dim", int64_t{4}}}};
       }},
      {"trig_tables",
       [&] {
         return Sample{{}, {{"seq_len", int64_t{3}}, {"rotary_dim", int64_t{4}}}};
       }},
      {"softmax",
       [&] {
         return Sample{{x(m)}, {{"axis", int64_t{-1}}}};
       }},
      {"log_softmax",
       [&] {
         return Sample{{x(m)}, {{"axis", int64_t{0}}}};
       }},
      {"softmax_grad",
       [&] {
         return Sample{{x(m), x(m, 1)}, {{"axis", int64_t{-1}}}};
       }},
      {"log_softmax_grad",
       [&] {
         return Sample{{x(m), x(m, 1)}, {{"axis", int64_t{-1}}}};
       }},
      {"group_norm",
       [&] {
         return Sample{{x({2, 4, 3}), x({4}, 1), x({4}, 2)}, {{"num_groups", int64_t{2}}}};
       }},
      {"group_normalization",
       [&] {
         return Sample{{x({2, 4, 3}), x({4}, 1), x({4}, 2)}, {{"num_groups", int64_t{2}}}};
       }},
      {"layer_norm",
       [&] {
         return Sample{{x({2, 4}), x({4}, 1), x({4}, 2)}};
       }},
      {"layer_normalization",
       [&] {
         return Sample{{x({2, 4}), x({4}, 1), x({4}, 2)}};
       }},
      {"group_normalization_grad",
       [&] {
         return Sample{{x({2, 4}), x({2, 4}, 1), x({4}), numbers(statistics(), {4}, 1), numbers(statistics(), {4}, 2)},
                       {{"num_groups", int64_t{2}}}};
       }},
      {"layer_normalization_grad",
       [&] {
         return Sample{{x({2, 4}), x({2, 4}, 1), x({4}), numbers(statistics(), {2}, 1), numbers(statistics(), {2}, 2)}};
       }},
      {"batch_norm_inference",
       [&] {
         return Sample{{x({2, 3}), x({3}, 1), x({3}, 2), x({3}, 3), x({3}, 4)}};
       }},
      {"group_quantize_decompress",
       [&] {
         return Sample{{cycle(DType::uint8, {3, 2}, 200), x({3, 2}), x({3, 2}, 1)}};
       }},
      {"batch_statistics",
       [&] {
         return Sample{{x({4, 3, 2})}};
       }},
      {"batch_norm_grad_sums",
       [&] {
         return Sample{{x({4, 3, 2}), x({4, 3, 2}, 1), x({3}, 2)}};
       }},
      {"batch_norm",
       [&] {
         return Sample{{x({4, 3, 2}), x({3}, 1), x({3}, 2), x({3}, 3), x({3}, 4)}};
       }},
      {"nll_loss",
       [&] {
         return Sample{{x(m), whole({2}, 3)}};
       }},
      {"nll_grad",
       [&] {
         return Sample{{x({}), x(m), whole({2}, 3)}};
       }},
      {"nll_loss_with_softmax_grad",
       [&] {
         return Sample{{x(m), whole({2}, 3)}};
       }},
      {"nll_loss_with_softmax_grad_direct",
       [&] {
         return Sample{{x(m), whole({2}, 3), numbers(DType::float32, {}, 0)}};
       }},
      {"cross_entropy",
       [&] {
         return Sample{{x(m), whole({2}, 3)}};
       }},
      {"cross_entropy_with_grad",
       [&] {
         return Sample{{x(m), whole({2}, 3)}};
       }},
      {"random_uniform",
       [&] {
         return Sample{{seed()}, {{"shape", Ints{2, 3}}}};
       }},
      {"random_normal",
       [&] {
         return Sample{{seed()}, {{"shape", Ints{2, 3}}}};
       }},
      {"dropout",
       [&] {
         return Sample{{x(m), seed()}, {{"p", 0.5}}};
       }},
      {"dropout_grad",
       [&] {
         return Sample{{x(m), seed()}, {{"p", 0.5}}};
       }},
      {"shaped_dropout",
       [&] {
         return Sample{{x(m), seed()}, {{"shape", Ints{2, 1}}, {"ratio", 0.5}}};
       }},
      {"shaped_dropout_grad",
       [&] {
         return Sample{{x(m), seed()}, {{"shape", Ints{2, 1}}, {"ratio", 0.5}}};
       }},
      {"modify_random_seed",
       [&] {
         return Sample{{seed(), array<uint32_t>({}, {3})}};
       }},
      {"split_random_seed", [&] { return Sample{{seed()}}; }},
      {"adam_update",
       [&] {
         return Sample{{{}, x(m), x(m, 1)}};
       }},
      {"adamax_updater",
       [&] {
         return Sample{{x(m), x(m, 1), {}, numbers(DType::float32, {}, 0)}};
       }},
      {"adam_var_update",
       [&] {
         return Sample{{x(m), x(m, 1), numbers(DType::float32, {}, 0), numbers(DType::float32, {}, 1)}};
       }},
      {"init",
       [&] {
         return Sample{{}, {{"shape", Ints{2, 3}}}};
       }},
  };
}

}  // namespace pxl::test
