// The reasons why ops have no ONNX form.
#include "interpreter/onnx/exporter.hpp"
#include "runtime/ops/table.hpp"

namespace pxl::onnx {

namespace {

struct Reason {
  std::string_view op;
  const char* why;
};

constexpr const char* random = "every reader of ONNX draws other random numbers";
constexpr const char* state = "it updates state, and a model keeps nothing between runs";
constexpr const char* gradient = "ONNX has no gradients; export the graph of the forward pass";
constexpr const char* narrow = "opset 17 has no float8";
constexpr const char* matrices = "ONNX has no decompositions of matrices";
constexpr const char* replicas = "ONNX has one replica";

const Reason reasons[] = {
    {"accumulate_", state},
    {"accumulate_mean_", state},
    {"accumulate_moving_average_", state},
    {"accumulate_moving_average_square_", state},
    {"accumulate_square_", state},
    {"accumulator_scale_", state},
    {"accumulator_zero_", state},
    {"adam_update", state},
    {"adam_var_update", state},
    {"all_reduce_between", "ONNX has one device"},
    {"all_reduce_identical_grad_inputs_between", "ONNX has one device"},
    {"all_reduce_identical_inputs_between", "ONNX has one device"},
    {"atan2", "ONNX has no angle of two operands; atan has a form"},
    {"checked_weights", random},
    {"cholesky", matrices},
    {"conv_pow2scaled", narrow},
    {"conv_transpose_pow2scaled", narrow},
    {"dropout", random},
    {"eigh", matrices},
    {"erfinv", "ONNX has no inverse of Erf"},
    {"fp8_amax_scale", narrow},
    {"groupedgather", "ONNX has no gather with an axis of groups; gather_nd has one"},
    {"histogram", "ONNX has no counts between levels"},
    {"index_copy_", state},
    {"ipu_copy", "ONNX has one device"},
    {"ipu_copy_to", "ONNX has one device"},
    {"matmul_pow2scaled", narrow},
    {"median_indices", "ONNX has no medians; sort has a form"},
    {"modify_random_seed", random},
    {"nll_loss", "ONNX's loss takes logarithms, and bounds them otherwise; log_softmax and take_along have forms"},
    {"nll_loss_with_softmax_grad_direct", gradient},
    {"pow2scale_cast_from_fp8", narrow},
    {"pow2scale_cast_to_fp8", narrow},
    {"qr", matrices},
    {"random_normal", random},
    {"random_uniform", random},
    {"shaped_dropout", random},
    {"slogdet", matrices},
    {"solve_matrices", matrices},
    {"sparse_accumulate_", state},
    {"sum_duplicates", "it has results of a fixed extent, ONNX's Unique has not"},
    {"svd", matrices},
    {"triangular_solve_matrices", matrices},
};

}  // namespace

const char* reason_without_form(const OpRow& row) {
  for (const Reason& r : reasons)
    if (r.op == row.name) return r.why;
  if (row.exchange == Exchange::members || row.path.starts_with("ops.collectives.")) return replicas;
  if (row.path.empty() && row.name.find("_grad") != row.name.npos) return gradient;
  return nullptr;
}

}  // namespace pxl::onnx
