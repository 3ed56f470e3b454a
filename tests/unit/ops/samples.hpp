// Sample arguments for every row: by default from the kinds of its parameters, for some rows spelled out.
#pragma once

#include <functional>

#include "run_graph.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl::test {

/// A sample: arrays for operands (positions of the parameters), and attributes by name.
struct Sample {
  std::vector<std::optional<Array>> operands;  ///< parallel to the row's parameters; empty for attributes
  std::map<std::string, Attr> attrs = {};
  std::vector<Array> others = {};  ///< collectives: the operands of the other members of the group
};

/// An array of numbers as float8 without a scale.
inline Array as_float8(const Array& a, DType dtype) { return to_float8(a, dtype, 0, Float8Overflow::nan); }

/// Distinct positive numbers with gaps between them, so that nothing ties and finite differences stay on one side.
inline Array numbers(DType dtype, const Shape& shape, int seed) {
  Array a(DType::float64, shape);
  double* to = a.mutable_data<double>();
  for (int64_t i = 0; i < a.size(); ++i) {
    const auto k = static_cast<double>((i * 7 + seed * 3) % 11);
    to[i] = 0.31 + 0.17 * k + 0.013 * static_cast<double>(i) + 0.029 * seed;
  }
  return is_float8(dtype) ? as_float8(a, dtype) : a.cast(dtype);
}

inline Array cycle(DType dtype, const Shape& shape, int64_t n) {
  Array a(DType::int64, shape);
  for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<int64_t>()[i] = (i * 2 + 1) % n;
  return a.cast(dtype);
}

/// `dtype` is the floating dtype of operands.
inline Sample sample_for(const OpRow& row, DType dtype) {
  const auto x = [&](Shape s, int seed = 0) { return numbers(dtype, s, seed); };
  const auto whole = [](Shape s, int64_t n) { return cycle(DType::int32, s, n); };
  const auto seed = [] { return array<uint32_t>({2}, {7, 9}); };
  const auto bools = [](Shape s) { return cycle(DType::boolean, s, 2 + 1).cast(DType::boolean); };
  // Operands of the ops that take float8 and nothing else.
  const auto f8 = [&](Shape s, int seed_ = 0) {
    return numbers(is_float8(dtype) ? dtype : DType::float8_143, s, seed_);
  };
  const auto scale = [] { return array<int32_t>({}, {1}); };
  const Shape m{2, 3};
  using Ints = std::vector<int64_t>;
  // Numbers where inverse functions have them, with room for differences.
  const auto within = [&](double factor, double shift) {
    Array a = numbers(DType::float64, m, 0);
    for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<double>()[i] = a.number(i) * factor + shift;
    return is_float8(dtype) ? as_float8(a, dtype) : a.cast(dtype);
  };
  // Convolutions with a bias for six channels.
  const auto biased = [&](Sample s) {
    s.operands.resize(row.params.size());
    s.operands[param_index(row, "bias")] = x({6}, 2);
    return s;
  };
  const std::map<std::string_view, std::function<Sample()>> special = {
      {"acos", [&] { return Sample{{within(0.3, 0)}}; }},
      {"asin", [&] { return Sample{{within(0.3, 0)}}; }},
      {"atanh", [&] { return Sample{{within(0.3, 0)}}; }},
      {"acosh", [&] { return Sample{{within(1, 1)}}; }},
      {"det",
       [&] {
         return Sample{{x({2, 3, 3})}};
       }},
      {"grid_sample",
       [&] {
         return Sample{{x({1, 2, 4, 5}), x({1, 3, 2, 2}, 1)}};
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
      {"conv_pow2scaled",
       [&] {
         return Sample{{f8({2, 2, 5}), f8({3, 2, 2}, 1), scale()}};
       }},
      {"conv_transpose_pow2scaled",
       [&] {
         return Sample{{f8({2, 3, 4}), f8({3, 2, 2}, 1), scale()}};
       }},
      {"cast",
       [&] {
         return Sample{{x(m)}, {{"data_type", dtype == DType::float32 ? DType::float64 : DType::float32}}};
       }},
      {"clip",
       [&] {
         return Sample{{x(m)}, {{"min", 0.6}, {"max", 1.5}}};
       }},
      {"clip_grad",
       [&] {
         return Sample{{x(m), x(m, 1)}, {{"min", 0.6}, {"max", 1.5}}};
       }},
      {"median",
       [&] {
         return Sample{{x({2, 3, 2})}, {{"axis", Ints{0, 2}}}};
       }},
      {"median_indices",
       [&] {
         return Sample{{x({2, 3, 2})}, {{"axis", Ints{0, 2}}}};
       }},
      {"topk",
       [&] {
         return Sample{{x({2, 4})}, {{"k", int64_t{2}}}};
       }},
      {"histogram",
       [&] {
         return Sample{{x(m)}, {{"levels", std::vector<double>{0.5, 1.0}}}};
       }},
      {"cumsum_grad",
       [&] {
         return Sample{{x(m)}, {{"axis", int64_t{1}}, {"exclusive", true}}};
       }},
      {"matmul",
       [&] {
         return Sample{{x({2, 2, 3}), x({3, 4}, 1)}};
       }},
      {"reshape",
       [&] {
         return Sample{{x(m)}, {{"shape", Ints{3, -1}}}};
       }},
      {"reshape_",
       [&] {
         return Sample{{x(m)}, {{"shape", Ints{6}}}};
       }},
      {"broadcast_to",
       [&] {
         return Sample{{x({3})}, {{"shape", Ints{2, 3}}}};
       }},
      {"split",
       [&] {
         return Sample{{x({4, 2})}, {{"splits", int64_t{2}}}};
       }},
      {"slice",
       [&] {
         return Sample{{x({4, 3})}, {{"start", Ints{3, 0}}, {"stop", Ints{0, 2}}, {"step", Ints{-2, 1}}}};
       }},
      {"slice_",
       [&] {
         return Sample{{x({4})}, {{"start", int64_t{1}}}};
       }},
      {"slice_window",
       [&] {
         return Sample{{x({4})}, {{"starts", Ints{2}}, {"steps", Ints{-1}}, {"sizes", Ints{2}}}};
       }},
      {"slice_window_",
       [&] {
         return Sample{{x({4})}, {{"starts", Ints{2}}, {"steps", Ints{-1}}, {"sizes", Ints{2}}}};
       }},
      {"slice_grad",
       [&] {
         return Sample{{x({2})}, {{"starts", Ints{2}}, {"steps", Ints{-1}}, {"sizes", Ints{4}}}};
       }},
      {"subsample",
       [&] {
         return Sample{{x({5, 2})}, {{"strides", Ints{2}}}};
       }},
      {"subsample_",
       [&] {
         return Sample{{x({5, 2})}, {{"strides", Ints{2}}}};
       }},
      {"squeeze",
       [&] {
         return Sample{{x({1, 3, 1})}};
       }},
      {"gather",
       [&] {
         return Sample{{x({4, 3}), whole({2, 2}, 4)}, {{"axis", int64_t{0}}}};
       }},
      {"tied_gather",
       [&] {
         return Sample{{x({4, 3}), whole({2, 2}, 3)}, {{"axis", int64_t{1}}}};
       }},
      {"groupedgather",
       [&] {
         return Sample{{x({2, 3}), whole({2, 2}, 3)}, {{"group_size", int64_t{2}}}};
       }},
      {"gather_grad",
       [&] {
         return Sample{{x({2, 3}), whole({2}, 4)},
                       {{"shape", Ints{4, 3}}, {"axis", int64_t{0}}, {"zero_OOR", false}, {"batch", int64_t{0}}}};
       }},
      {"scatter",
       [&] {
         return Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0}), x({2, 2}, 1)}};
       }},
      {"scatter_zero",
       [&] {
         return Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0})}};
       }},
      {"take_along",
       [&] {
         return Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0})}};
       }},
      {"scatter_reduce",
       [&] {
         return Sample{{x({3, 2}), ints({3}, {1, 0, 1})}, {{"reduction", "sum"}, {"axis_size", int64_t{4}}}};
       }},
      {"scatter_reduce_grad",
       [&] {
         return Sample{{x({4, 2}), ints({3}, {1, 0, 1})}, {{"shape", Ints{3, 2}}, {"axis", int64_t{0}}}};
       }},
      {"gather_nd",
       [&] {
         return Sample{{x({2, 3, 4}), ints({2, 2, 2}, {0, 1, 2, 3, 1, 0, 2, -1})}, {{"batch_dims", int64_t{1}}}};
       }},
      {"scatter_nd",
       [&] {
         return Sample{{x({3, 2, 2}), ints({2, 2}, {2, 0, 0, 1}), x({2, 2}, 1)}};
       }},
      {"quantize_linear",
       [&] {
         return Sample{{x(m), x({3}, 1)}, {{"axis", int64_t{1}}}};
       }},
      {"dequantize_linear",
       [&] {
         return Sample{{whole(m, 9), x({3}), whole({3}, 4)}, {{"axis", int64_t{1}}}};
       }},
      {"lrn",
       [&] {
         return Sample{{x({2, 5, 3})}, {{"size", int64_t{4}}, {"alpha", 0.8}, {"beta", 0.6}, {"bias", 1.5}}};
       }},
      {"hardmax",
       [&] {
         return Sample{{x(m)}, {{"axis", int64_t{0}}}};
       }},
      {"dynamic_slice",
       [&] {
         return Sample{{x({4, 3}), ints({1}, {2})}, {{"axes", Ints{0}}, {"sizes", Ints{2}}}};
       }},
      {"dynamic_slice_grad",
       [&] {
         return Sample{{x({2, 3}), ints({1}, {2})}, {{"axes", Ints{0}}, {"shape", Ints{4, 3}}}};
       }},
      {"dynamic_update",
       [&] {
         return Sample{{x({4, 3}), ints({1}, {1}), x({2, 3}, 1)}, {{"axes", Ints{0}}, {"sizes", Ints{2}}}};
       }},
      {"dynamic_update_",
       [&] {
         return Sample{{x({4, 3}), ints({1}, {1}), x({2, 3}, 1)}, {{"axes", Ints{0}}, {"sizes", Ints{2}}}};
       }},
      {"onehot",
       [&] {
         return Sample{{whole({3}, 4), {}, x({2})}, {{"num_classes", int64_t{4}}}};
       }},
      {"onehot_grad",
       [&] {
         return Sample{{x({3, 4}), whole({3}, 4)}, {{"num_classes", int64_t{4}}, {"axis", int64_t{1}}}};
       }},
      {"conv",
       [&] {
         return biased({{x({2, 4, 5, 4}), x({6, 2, 3, 2}, 1)},
                        {{"stride", Ints{2, 1}}, {"padding", Ints{1, 0, 0, 1}}, {"groups", int64_t{2}}}});
       }},
      {"conv_data_grad",
       [&] {
         return Sample{{x({2, 3, 3}), x({3, 2, 2}, 1)},
                       {{"shape", Ints{6}},
                        {"stride", Ints{2}},
                        {"padding", Ints{0, 0}},
                        {"dilation", Ints{1}},
                        {"groups", int64_t{1}}}};
       }},
      {"conv_weights_grad",
       [&] {
         return Sample{{x({2, 3, 3}), x({2, 2, 6}, 1)},
                       {{"kernel", Ints{2}},
                        {"stride", Ints{2}},
                        {"padding", Ints{0, 0}},
                        {"dilation", Ints{1}},
                        {"groups", int64_t{1}}}};
       }},
      {"conv_transpose",
       [&] {
         return biased({{x({2, 4, 3, 2}), x({4, 3, 3, 2}, 1)},
                        {{"stride", Ints{2, 1}},
                         {"padding", Ints{1, 0, 1, 0}},
                         {"output_padding", Ints{1, 0}},
                         {"groups", int64_t{2}}}});
       }},
      {"max_pool",
       [&] {
         return Sample{{x({2, 2, 5, 4})}, {{"kernel_size", Ints{3, 2}}, {"stride", Ints{2, 1}}, {"padding", Ints{1}}}};
       }},
      {"max_pool_grad",
       [&] {
         return Sample{{x({1, 2, 2}, 1), x({1, 2, 5})}, {{"kernel_size", Ints{2}}, {"stride", Ints{2}}}};
       }},
      {"max_pool_pick",
       [&] {
         return Sample{{x({1, 2, 5}, 1), x({1, 2, 5})}, {{"kernel_size", Ints{2}}, {"stride", Ints{2}}}};
       }},
      {"average_pool",
       [&] {
         return Sample{
             {x({2, 2, 5, 4})},
             {{"kernel_size", Ints{3, 2}}, {"stride", Ints{2, 1}}, {"padding", Ints{1}}, {"ceil_mode", true}}};
       }},
      {"average_pool_grad",
       [&] {
         return Sample{{x({1, 2, 2})}, {{"shape", Ints{1, 2, 5}}, {"kernel_size", Ints{2}}, {"stride", Ints{2}}}};
       }},
      {"global_max_pool",
       [&] {
         return Sample{{x({2, 3, 4})}};
       }},
      {"global_average_pool",
       [&] {
         return Sample{{x({2, 3, 4, 2})}};
       }},
      {"depth_to_space",
       [&] {
         return Sample{{x({1, 8, 2, 1})}, {{"blocksize", int64_t{2}}}};
       }},
      {"space_to_depth",
       [&] {
         return Sample{{x({1, 2, 2, 4})}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}}};
       }},
      {"interpolate",
       [&] {
         return Sample{{x({1, 2, 3, 4})},
                       {{"scale_factor", std::vector<double>{1, 1, 2, 1.5}}, {"mode", std::string("linear")}}};
       }},
      {"interpolate_grad",
       [&] {
         return Sample{{x({1, 6, 6})},
                       {{"shape", Ints{1, 3, 4}},
                        {"scale_factor", std::vector<double>{1, 2, 1.5}},
                        {"mode", std::string("cubic")}}};
       }},
      {"roi_align",
       [&] {
         return Sample{
             {x({2, 2, 4, 5}), floats({2, 4}, {0.5F, 0.25F, 3, 3.5F, -1, 1, 4, 2}).cast(dtype), ints({2}, {1, 0})},
             {{"output_size", Ints{2, 2}}, {"spatial_scale", 1.0}, {"sampling_ratio", int64_t{2}}}};
       }},
      {"roi_align_grad",
       [&] {
         return Sample{
             {x({2, 2, 2, 2}), floats({2, 4}, {0.5F, 0.25F, 3, 3.5F, -1, 1, 4, 2}).cast(dtype), ints({2}, {1, 0})},
             {{"output_size", Ints{2, 2}},
              {"spatial_scale", 1.0},
              {"sampling_ratio", int64_t{2}},
              {"shape", Ints{2, 2, 4, 5}}}};
       }},
      {"pad",
       [&] {
         return Sample{{x(m)}, {{"padding", Ints{1, 0, 2, 1}}, {"value", 0.5}}};
       }},
      {"roll",
       [&] {
         return Sample{{x({2, 5})}, {{"shift", int64_t{-2}}, {"axis", int64_t{1}}}};
       }},
      {"tile",
       [&] {
         return Sample{{x(m)}, {{"repeats", Ints{2, 3}}}};
       }},
      {"scatter_update_grad",
       [&] {
         return Sample{{x({3, 2}), ints({2, 2}, {0, 2, 1, 0})}};
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
      {"rotary_pos_embed",
       [&] {
         return Sample{{x({1, 2, 2, 6}), x({2, 2}, 1), x({2, 2}, 2)}, {{"rotary_dim", int64_t{4}}}};
       }},
      {"trig_tables",
       [&] {
         return Sample{{}, {{"seq_len", int64_t{3}}, {"rotary_dim", int64_t{4}}}};
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
         return Sample{
             {x({2, 4}), x({2, 4}, 1), x({4}), numbers(DType::float32, {4}, 1), numbers(DType::float32, {4}, 2)},
             {{"num_groups", int64_t{2}}}};
       }},
      {"layer_normalization_grad",
       [&] {
         return Sample{
             {x({2, 4}), x({2, 4}, 1), x({4}), numbers(DType::float32, {2}, 1), numbers(DType::float32, {2}, 2)}};
       }},
      {"batch_norm_inference",
       [&] {
         return Sample{{x({2, 3}), x({3}, 1), x({3}, 2), x({3}, 3), x({3}, 4)}};
       }},
      {"group_quantize_decompress",
       [&] {
         return Sample{{cycle(DType::uint8, {3, 2}, 200), x({3, 2}), x({3, 2}, 1)}};
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
      {"sparse_accumulate_",
       [&] {
         return Sample{{x({4, 3}), x({2, 3}, 1), ints({2}, {1, 1})}};
       }},
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
  if (const auto found = special.find(row.name); found != special.end()) return found->second();
  // Of an op on several IPUs: on one, so that it has a cost there.
  if (row.params.size() > 1 && row.params[1].name == "ipus") return {{x(m), x(m, 1)}, {{"ipus", Ints{0, 0}}}};

  Sample sample;
  int seeds = 0;
  for (const Param& p : row.params) {
    std::optional<Array> operand;
    if (p.kind == ParamKind::tensor || p.kind == ParamKind::tensors) operand = x(m, seeds++);
    if (p.kind == ParamKind::index) operand = whole({2}, 2);
    sample.operands.push_back(operand);
    if (p.default_value.kind != Default::required) continue;
    if (p.kind == ParamKind::number || p.kind == ParamKind::number_or_tensor) sample.attrs[std::string(p.name)] = 0.75;
    if (p.kind == ParamKind::integer) sample.attrs[std::string(p.name)] = int64_t{1};
  }
  return sample;
}

/// The sample as arguments of the row, each operand passed through `make`; those of a variadic row as one list.
template <class Make>
OpArgs arguments(const OpRow& row, const Sample& sample, Make&& make) {
  OpArgs args;
  args.values.resize(row.params.size());
  std::vector<Expr> list;
  for (size_t i = 0; i < sample.operands.size(); ++i) {
    if (!sample.operands[i]) continue;
    if (is_variadic(row))
      list.push_back(make(*sample.operands[i]));
    else
      args.values[i] = make(*sample.operands[i]);
  }
  if (is_variadic(row)) args.values[0] = list;
  for (const auto& [name, attr] : sample.attrs) args.values[param_index(row, name)] = attr;
  return args;
}

}  // namespace pxl::test
