// Samples of arithmetic, comparisons, bits, casts, products, and ops between IPUs.
#include "samples.hpp"

namespace pxl::test {

Samples::Rows Samples::elementwise() const {
  return {
      {"acos", [&] { return Sample{{within(0.3, 0)}}; }},
      {"asin", [&] { return Sample{{within(0.3, 0)}}; }},
      {"atanh", [&] { return Sample{{within(0.3, 0)}}; }},
      {"acosh", [&] { return Sample{{within(1, 1)}}; }},
      {"cholesky",
       [&] {
         return Sample{{matrices({2, 3, 3})}};
       }},
      {"slogdet",
       [&] {
         return Sample{{matrices({2, 3, 3})}};
       }},
      {"inverse",
       [&] {
         return Sample{{matrices({2, 3, 3})}};
       }},
      {"eigh",
       [&] {
         return Sample{{matrices({2, 3, 3})}};
       }},
      {"triangular_solve",
       [&] {
         return Sample{{matrices({2, 3, 3}), x({2, 3, 2}, 1)}};
       }},
      {"triangular_solve_matrices",
       [&] {
         return Sample{{matrices({2, 3, 3}), x({2, 3, 2}, 1)}};
       }},
      {"solve",
       [&] {
         return Sample{{matrices({2, 3, 3}), x({2, 3, 2}, 1)}};
       }},
      {"solve_matrices",
       [&] {
         return Sample{{matrices({2, 3, 3}), x({2, 3, 2}, 1)}};
       }},
      {"qr",
       [&] {
         return Sample{{matrices({2, 4, 3})}};
       }},
      {"svd",
       [&] {
         return Sample{{matrices({2, 3, 4})}};
       }},
      {"fourier",
       [&] {
         return Sample{{x({2, 3, 2})}};
       }},
      {"fft",
       [&] {
         return Sample{{x({2, 3, 2})}};
       }},
      {"ifft",
       [&] {
         return Sample{{x({2, 3, 2})}};
       }},
      {"fft2",
       [&] {
         return Sample{{x({2, 3, 2})}};
       }},
      {"ifft2",
       [&] {
         return Sample{{x({2, 3, 2})}};
       }},
      {"irfft",
       [&] {
         return Sample{{x({2, 3, 2})}};
       }},
      {"irfft2",
       [&] {
         return Sample{{x({2, 3, 2})}};
       }},
      {"erfinv", [&] { return Sample{{within(0.3, 0)}}; }},
      // Nothing is left out: differences of -inf are no numbers.
      {"top_p",
       [&] {
         return Sample{{x(m)}, {{"p", 1.0}}};
       }},
      {"masked_fill",
       [&] {
         return Sample{{x(m), bools(m), x({}, 1)}};
       }},
      {"scatter_add",
       [&] {
         return Sample{{x({3, 2}), whole({4, 2}, 3), x({4, 2}, 1)}};
       }},
      {"categorical",
       [&] {
         return Sample{{x(m), seed()}};
       }},
      {"multinomial",
       [&] {
         return Sample{{x(m), seed()}, {{"num_samples", int64_t{2}}}};
       }},
      {"det",
       [&] {
         return Sample{{x({2, 3, 3})}};
       }},
      {"prelu",
       [&] {
         return Sample{{x(m), x({3}, 1)}};
       }},
      {"select",
       [&] {
         return Sample{{bools(m), x(m), x(m, 1)}};
       }},
      {"where",
       [&] {
         return Sample{{bools(m), x(m), x({3}, 1)}};
       }},
      {"and",
       [&] {
         return Sample{{bools(m), bools({3})}};
       }},
      {"or",
       [&] {
         return Sample{{bools(m), bools({3})}};
       }},
      {"not", [&] { return Sample{{bools(m)}}; }},
      {"add",
       [&] {
         return Sample{{x(m), x({3}, 1)}};
       }},
      {"sub",
       [&] {
         return Sample{{x({2, 1}), x(m, 1)}};
       }},
      {"mul",
       [&] {
         return Sample{{x(m), x({}, 1)}};
       }},
      {"div",
       [&] {
         return Sample{{x({1, 3}), x({2, 1}, 1)}};
       }},
      {"pow",
       [&] {
         return Sample{{x(m), x({3}, 1)}};
       }},
      {"pow2scale_cast_to_fp8",
       [&] {
         return Sample{{numbers(DType::float16, m, 0), scale()}, {{"data_type", DType::float8_143}}};
       }},
      {"pow2scale_cast_from_fp8",
       [&] {
         return Sample{{f8(m), scale()}};
       }},
      {"matmul_pow2scaled",
       [&] {
         return Sample{{f8({2, 2, 3}), f8({3, 4}, 1), scale()}};
       }},
      {"dequantise",
       [&] {
         return Sample{{numbers(DType::int8, {3, 4}, 0), x({2, 4}, 1)}, {{"group_size", 2}}};
       }},
      {"matmul_integer",
       [&] {
         return Sample{{numbers(DType::uint8, {2, 3}, 0), numbers(DType::int8, {3, 4}, 1),
                        numbers(DType::uint8, {2}, 2), numbers(DType::int8, {4}, 3)}};
       }},
      {"conv_integer",
       [&] {
         return Sample{{numbers(DType::uint8, {2, 2, 5}, 0), numbers(DType::int8, {3, 2, 3}, 1),
                        numbers(DType::uint8, {}, 2), numbers(DType::int8, {3}, 3)},
                       {{"padding", Ints{1}}}};
       }},
      {"quantised_matmul",
       [&] {
         return Sample{{numbers(DType::int8, {2, 3}, 0), numbers(DType::int8, {3, 4}, 1), x({2, 2}, 2), x({2, 4}, 3)},
                       {{"group_size", 2}}};
       }},
      {"cast",
       [&] {
         return Sample{{x(m)}, {{"data_type", dtype == DType::float32 ? DType::float64 : DType::float32}}};
       }},
      {"clip",
       [&] {
         return Sample{{x(m)}, {{"min", element(0.6, 1)}, {"max", element(1.5, 2)}}};
       }},
      {"clip_grad",
       [&] {
         return Sample{{x(m), x(m, 1)}, {{"min", 0.6}, {"max", 1.5}}};
       }},
      {"gate_grad",
       [&] {
         return Sample{{x(m), x(m, 1)}, {{"min", 0.6}, {"max", 1.5}, {"inside", 0.25}, {"outside", 1.0}}};
       }},
      {"cumsum_grad",
       [&] {
         return Sample{{x(m)}, {{"axis", int64_t{1}}, {"exclusive", true}}};
       }},
      {"matmul",
       [&] {
         return Sample{{x({2, 2, 3}), x({3, 4}, 1)}};
       }},
      {"quantize_linear",
       [&] {
         return Sample{{x(m), x({3}, 1)}, {{"axis", int64_t{1}}}};
       }},
      {"dequantize_linear",
       [&] {
         return Sample{{whole(m, 9), x({3}), whole({3}, 4)}, {{"axis", int64_t{1}}}};
       }},
      {"bitwise_and",
       [&] {
         return Sample{{whole({3}, 4), whole({3}, 3)}};
       }},
      {"bitwise_or",
       [&] {
         return Sample{{whole({3}, 4), whole({3}, 3)}};
       }},
      {"bitwise_xor",
       [&] {
         return Sample{{whole({3}, 4), whole({3}, 3)}};
       }},
      {"bitwise_not", [&] { return Sample{{whole({3}, 4)}}; }},
      {"shift_left",
       [&] {
         return Sample{{whole({3}, 4), whole({3}, 3)}};
       }},
      {"shift_right",
       [&] {
         return Sample{{whole({3}, 4), whole({3}, 3)}};
       }},
      {"ipu_copy",
       [&] {
         return Sample{{x(m)}, {{"destination", int64_t{1}}, {"source", int64_t{0}}}};
       }},
      {"copy_to_ipu",
       [&] {
         return Sample{{x(m)}, {{"destination", int64_t{1}}, {"source", int64_t{0}}}};
       }},
      {"print_tensor",
       [&] {
         return Sample{{x(m)}, {{"print_self", false}}};
       }},
      {"print",
       [&] {
         return Sample{{x(m)}, {{"title", std::string("t")}, {"print_self", false}}};
       }},
  };
}

}  // namespace pxl::test
