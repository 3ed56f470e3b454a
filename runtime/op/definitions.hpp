// Definitions: the computation of each op, in xtensor. Implemented in runtime/reference, one file per family; declared
// here without xtensor, so that files with rows compile fast.
#pragma once

#include "runtime/op/op.hpp"

namespace pxl {

/// The op's definition as a kernel: runs as one phase on dense operands, and may allocate. Requires a row with a
/// definition, and inferred outputs in `site`.
Kernel definition_kernel(const OpContext& site);
/// The kernel of a row, or its definition if it has none.
Kernel kernel_of(const OpContext& site);

namespace reference {

// elementwise.cpp
void abs(ReferenceContext&);
void negate(ReferenceContext&);
void sign(ReferenceContext&);
void square(ReferenceContext&);
void relu(ReferenceContext&);
void ceil(ReferenceContext&);
void floor(ReferenceContext&);
void round(ReferenceContext&);
void sqrt(ReferenceContext&);
void rsqrt(ReferenceContext&);
void reciprocal(ReferenceContext&);
void exp(ReferenceContext&);
void expm1(ReferenceContext&);
void log(ReferenceContext&);
void log1p(ReferenceContext&);
void sin(ReferenceContext&);
void cos(ReferenceContext&);
void tanh(ReferenceContext&);
void sigmoid(ReferenceContext&);
void erf(ReferenceContext&);
void softplus(ReferenceContext&);
void gelu(ReferenceContext&);
void geluerf(ReferenceContext&);
void swish(ReferenceContext&);
void clip(ReferenceContext&);
void increment_mod(ReferenceContext&);
void identity(ReferenceContext&);
void cast(ReferenceContext&);
void init(ReferenceContext&);
void relu_grad(ReferenceContext&);
void tanh_grad(ReferenceContext&);
void sigmoid_grad(ReferenceContext&);
void gelu_grad(ReferenceContext&);
void geluerf_grad(ReferenceContext&);
void swish_grad(ReferenceContext&);
void erf_grad(ReferenceContext&);
void clip_grad(ReferenceContext&);
void gate_grad(ReferenceContext&);
void hard_swish_grad(ReferenceContext&);

// activation.cpp
void acos(ReferenceContext&);
void acosh(ReferenceContext&);
void asin(ReferenceContext&);
void asinh(ReferenceContext&);
void atan(ReferenceContext&);
void atanh(ReferenceContext&);
void cosh(ReferenceContext&);
void sinh(ReferenceContext&);
void tan(ReferenceContext&);
void leaky_relu(ReferenceContext&);
void elu(ReferenceContext&);
void selu(ReferenceContext&);
void celu(ReferenceContext&);
void hard_sigmoid(ReferenceContext&);
void hard_swish(ReferenceContext&);
void shrink(ReferenceContext&);
void softsign(ReferenceContext&);
void thresholded_relu(ReferenceContext&);
void prelu(ReferenceContext&);
void det(ReferenceContext&);
void grid_sample(ReferenceContext&);

// arithmetic.cpp
void add(ReferenceContext&);
void sub(ReferenceContext&);
void mul(ReferenceContext&);
void div(ReferenceContext&);
void floor_div(ReferenceContext&);
void fmod(ReferenceContext&);
void mod(ReferenceContext&);
void pow(ReferenceContext&);
void maximum(ReferenceContext&);
void minimum(ReferenceContext&);
void sum_n(ReferenceContext&);
void equal(ReferenceContext&);
void not_equal(ReferenceContext&);
void less(ReferenceContext&);
void less_equal(ReferenceContext&);
void greater(ReferenceContext&);
void greater_equal(ReferenceContext&);
void isnan(ReferenceContext&);
void isinf(ReferenceContext&);
void and_(ReferenceContext&);
void or_(ReferenceContext&);
void not_(ReferenceContext&);
void bitwise_xor(ReferenceContext&);
void shift_left(ReferenceContext&);
void shift_right(ReferenceContext&);
void select(ReferenceContext&);

// reduce.cpp
void sum(ReferenceContext&);
void mean(ReferenceContext&);
void max(ReferenceContext&);
void min(ReferenceContext&);
void prod(ReferenceContext&);
void l1(ReferenceContext&);
void l2(ReferenceContext&);
void sumsquare(ReferenceContext&);
void logsum(ReferenceContext&);
void logsumexp(ReferenceContext&);
void lamb_square(ReferenceContext&);
void cumsum(ReferenceContext&);
void cumsum_grad(ReferenceContext&);
void cumprod(ReferenceContext&);

// order.cpp
void median_indices(ReferenceContext&);
void argmax(ReferenceContext&);
void argmin(ReferenceContext&);
void topk(ReferenceContext&);
void sort(ReferenceContext&);
void histogram(ReferenceContext&);
void hardmax(ReferenceContext&);

// product.cpp
void matmul(ReferenceContext&);

// attention.cpp
void attention(ReferenceContext&);
void matmul_integer(ReferenceContext&);
void matmul_pow2scaled(ReferenceContext&);
void dequantise(ReferenceContext&);
void quantised_matmul(ReferenceContext&);
void pow2scale_cast_to_fp8(ReferenceContext&);
void pow2scale_cast_from_fp8(ReferenceContext&);
void fp8_amax_scale(ReferenceContext&);

// shape.cpp
void transpose(ReferenceContext&);
void broadcast_to(ReferenceContext&);
void slice_window(ReferenceContext&);
void slice_grad(ReferenceContext&);
void subsample(ReferenceContext&);
void pad(ReferenceContext&);
void flip(ReferenceContext&);
void roll(ReferenceContext&);
void concat(ReferenceContext&);
void split(ReferenceContext&);
void dynamic_slice(ReferenceContext&);
void dynamic_slice_grad(ReferenceContext&);
void dynamic_update(ReferenceContext&);

// index.cpp
void gather(ReferenceContext&);
void groupedgather(ReferenceContext&);
void gather_grad(ReferenceContext&);
void onehot(ReferenceContext&);
void onehot_grad(ReferenceContext&);
void scatter(ReferenceContext&);
void scatter_zero(ReferenceContext&);
void take_along(ReferenceContext&);
void scatter_reduce(ReferenceContext&);
void scatter_reduce_grad(ReferenceContext&);
void sum_duplicates(ReferenceContext&);
void index_copy_(ReferenceContext&);

// nd_index.cpp
void gather_nd(ReferenceContext&);
void scatter_nd(ReferenceContext&);

// linear_quantise.cpp
void quantize_linear(ReferenceContext&);
void dequantize_linear(ReferenceContext&);
void round_to_bfloat16(ReferenceContext&);

// window.cpp
void conv(ReferenceContext&);
void conv_integer(ReferenceContext&);
void conv_data_grad(ReferenceContext&);
void conv_weights_grad(ReferenceContext&);
void conv_transpose(ReferenceContext&);
void max_pool(ReferenceContext&);
void max_pool_grad(ReferenceContext&);
void max_pool_pick(ReferenceContext&);
void average_pool(ReferenceContext&);
void average_pool_grad(ReferenceContext&);

// resample.cpp
void interpolate(ReferenceContext&);
void interpolate_grad(ReferenceContext&);
void roi_align(ReferenceContext&);
void roi_align_grad(ReferenceContext&);

// blocks.cpp
void depth_to_space(ReferenceContext&);
void space_to_depth(ReferenceContext&);

// normalise.cpp
void softmax(ReferenceContext&);
void softmax_grad(ReferenceContext&);
void log_softmax(ReferenceContext&);
void log_softmax_grad(ReferenceContext&);
void lrn(ReferenceContext&);
void group_normalization(ReferenceContext&);
void group_normalization_grad(ReferenceContext&);
void layer_normalization(ReferenceContext&);
void layer_normalization_grad(ReferenceContext&);
void batch_norm_inference(ReferenceContext&);
void batch_statistics(ReferenceContext&);
void batch_norm_grad_sums(ReferenceContext&);

// loss.cpp
void nll_loss(ReferenceContext&);
void nll_grad(ReferenceContext&);
void nll_loss_with_softmax_grad_direct(ReferenceContext&);

// random.cpp
void random_uniform(ReferenceContext&);
void random_normal(ReferenceContext&);
void dropout(ReferenceContext&);
void shaped_dropout(ReferenceContext&);
void modify_random_seed(ReferenceContext&);

// update.cpp
void scaled_add(ReferenceContext&);
void accumulate_(ReferenceContext&);
void accumulate_square_(ReferenceContext&);
void accumulate_mean_(ReferenceContext&);
void accumulate_moving_average_(ReferenceContext&);
void accumulate_moving_average_square_(ReferenceContext&);
void accumulator_scale_(ReferenceContext&);
void accumulator_zero_(ReferenceContext&);
void sparse_accumulate_(ReferenceContext&);
void copy_var_update_(ReferenceContext&);
void adam_update(ReferenceContext&);
void adam_var_update(ReferenceContext&);

// collective.cpp
void replicated_all_reduce(ReferenceContext&);
void replicated_sum(ReferenceContext&);
void identities(ReferenceContext&);
void replicated_reduce_scatter(ReferenceContext&);
void replicated_reduce(ReferenceContext&);
void replicated_gather(ReferenceContext&);
void replicated_broadcast(ReferenceContext&);
void replicated_all_to_all(ReferenceContext&);
void replica_slice(ReferenceContext&);
void replica_index(ReferenceContext&);

// print.cpp
void print(ReferenceContext&);

}  // namespace reference

}  // namespace pxl
