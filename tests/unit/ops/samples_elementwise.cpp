// Samples of arithmetic, comparisons, bits, casts, products, and ops between IPUs.
#include "samples.hpp"

namespace pxl::test {

Samples::Rows Samples::elementwise() const {
  return {
      PXL_SAMPLE("acos asin atanh erfinv", Sample{{within(0.3, 0)}}),
      PXL_SAMPLE("acosh", Sample{{within(1, 1)}}),
      PXL_SAMPLE("cholesky slogdet inverse eigh", Sample{{matrices({2, 3, 3})}}),
      PXL_SAMPLE("triangular_solve triangular_solve_matrices solve solve_matrices",
                 Sample{{matrices({2, 3, 3}), x({2, 3, 2}, 1)}}),
      PXL_SAMPLE("qr", Sample{{matrices({2, 4, 3})}}),
      PXL_SAMPLE("svd", Sample{{matrices({2, 3, 4})}}),
      PXL_SAMPLE("fourier fft ifft fft2 ifft2 irfft irfft2", Sample{{x({2, 3, 2})}}),
      // Nothing is left out: differences of -inf are no numbers.
      PXL_SAMPLE("top_p", Sample{{x(m)}, {{"p", 0.99999}}}),
      PXL_SAMPLE("masked_fill", Sample{{x(m), bools(m), x({}, 1)}}),
      PXL_SAMPLE("scatter_add", Sample{{x({3, 2}), whole({4, 2}, 3), x({4, 2}, 1)}}),
      PXL_SAMPLE("categorical", Sample{{x(m), seed()}}),
      PXL_SAMPLE("multinomial", Sample{{x(m), seed()}, {{"num_samples", int64_t{2}}}}),
      PXL_SAMPLE("checked_weights", Sample{{x(m)}, {{"logits", false}}}),
      PXL_SAMPLE("det", Sample{{x({2, 3, 3})}}),
      PXL_SAMPLE("add pow", Sample{{x(m), x({3}, 1)}}),
      PXL_SAMPLE("prelu", Sample{{within(1, -1.2), x({3}, 1)}}),
      PXL_SAMPLE("select", Sample{{bools(m), x(m), x(m, 1)}}),
      PXL_SAMPLE("where", Sample{{bools(m), x(m), x({3}, 1)}}),
      PXL_SAMPLE("and or", Sample{{bools(m), bools({3})}}),
      PXL_SAMPLE("not", Sample{{bools(m)}}),
      PXL_SAMPLE("sub", Sample{{x({2, 1}), x(m, 1)}}),
      PXL_SAMPLE("mul", Sample{{x(m), x({}, 1)}}),
      PXL_SAMPLE("div", Sample{{x({1, 3}), x({2, 1}, 1)}}),
      PXL_SAMPLE("pow2scale_cast_to_fp8",
                 Sample{{numbers(DType::float16, m, 0), scale()}, {{"data_type", DType::float8_143}}}),
      PXL_SAMPLE("pow2scale_cast_from_fp8", Sample{{f8(m), scale()}}),
      PXL_SAMPLE("matmul_pow2scaled", Sample{{f8({2, 2, 3}), f8({3, 4}, 1), scale()}}),
      PXL_SAMPLE("dequantise", Sample{{numbers(DType::int8, {3, 4}, 0), x({2, 4}, 1)}, {{"group_size", 2}}}),
      PXL_SAMPLE("matmul_integer", Sample{{numbers(DType::uint8, {2, 3}, 0), numbers(DType::int8, {3, 4}, 1),
                                           numbers(DType::uint8, {2}, 2), numbers(DType::int8, {4}, 3)}}),
      PXL_SAMPLE("conv_integer", Sample{{numbers(DType::uint8, {2, 2, 5}, 0), numbers(DType::int8, {3, 2, 3}, 1),
                                         numbers(DType::uint8, {}, 2), numbers(DType::int8, {3}, 3)},
                                        {{"padding", Ints{1}}}}),
      PXL_SAMPLE("quantised_matmul",
                 Sample{{numbers(DType::int8, {2, 3}, 0), numbers(DType::int8, {3, 4}, 1), x({2, 2}, 2), x({2, 4}, 3)},
                        {{"group_size", 2}}}),
      PXL_SAMPLE("cast", Sample{{x(m)}, {{"data_type", dtype == DType::float32 ? DType::float64 : DType::float32}}}),
      PXL_SAMPLE("clip", Sample{{x(m)}, {{"min", element(0.6, 1)}, {"max", element(1.5, 2)}}}),
      PXL_SAMPLE("clip_grad", Sample{{x(m), x(m, 1)}, {{"min", 0.6}, {"max", 1.5}}}),
      PXL_SAMPLE("gate_grad",
                 Sample{{x(m), x(m, 1)}, {{"min", 0.6}, {"max", 1.5}, {"inside", 0.25}, {"outside", 1.0}}}),
      PXL_SAMPLE("cumsum_grad", Sample{{x(m)}, {{"axis", int64_t{1}}, {"exclusive", true}}}),
      PXL_SAMPLE("matmul", Sample{{x({2, 2, 3}), x({3, 4}, 1)}}),
      PXL_SAMPLE("quantize_linear", Sample{{x(m), x({3}, 1)}, {{"axis", int64_t{1}}}}),
      PXL_SAMPLE("dequantize_linear", Sample{{whole(m, 9), x({3}), whole({3}, 4)}, {{"axis", int64_t{1}}}}),
      PXL_SAMPLE("bitwise_and bitwise_or bitwise_xor shift_left shift_right", Sample{{whole({3}, 4), whole({3}, 3)}}),
      PXL_SAMPLE("bitwise_not", Sample{{whole({3}, 4)}}),
      PXL_SAMPLE("ipu_copy copy_to_ipu", Sample{{x(m)}, {{"destination", int64_t{1}}, {"source", int64_t{0}}}}),
      PXL_SAMPLE("print_tensor", Sample{{x(m)}, {{"print_self", false}}}),
      PXL_SAMPLE("print", Sample{{x(m)}, {{"title", std::string("t")}, {"print_self", false}}}),
  };
}

}  // namespace pxl::test
