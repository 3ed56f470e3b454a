// Times single kernels at the shapes that the workloads have, divided among the team's threads as a session would.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/execute/program.hpp"
#include "runtime/kernels/gemm/product.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/plan/cpu_lowering.hpp"
#include "runtime/transform/flops.hpp"

namespace {

using namespace pxl;
using Given = std::pair<std::string_view, Attr>;

/// Numbers between -1 and 1, or labels below `below`; the same each time.
Array filled(const TensorSpec& spec, int32_t below, bool positive) {
  Array a = Array::zeros(spec.dtype, spec.shape);
  uint32_t state = 12345;
  const auto next = [&] { return state = state * 1664525U + 1013904223U; };  // Numerical Recipes' generator
  for (int64_t i = 0; i < a.size(); ++i) {
    const double unit = static_cast<double>(next() >> 8) / static_cast<double>(1 << 24);
    const double x = positive ? unit + 0.5 : 2 * unit - 1.0;
    if (spec.dtype == DType::float32)
      a.mutable_data<float>()[i] = static_cast<float>(x);
    else if (spec.dtype == DType::float16)
      a.mutable_data<half>()[i] = half(static_cast<float>(x));
    else if (spec.dtype == DType::int32)
      a.mutable_data<int32_t>()[i] = static_cast<int32_t>(next() >> 8) % below;
  }
  return a;
}

struct Case {
  std::string name;
  std::string_view op;
  std::vector<TensorSpec> operands;
  std::vector<Given> attributes;
  int32_t labels = 10;    ///< integer operands are below this
  bool positive = false;  ///< floats between 0.5 and 1.5 instead of -1 and 1
  double number = 0;      ///< operands without axes, unless 0
};

void run(benchmark::State& state, const Case& c) {
  Ir ir;
  GraphOpBuilder builder(ir.main());
  std::vector<OpArg> arguments;
  for (const TensorSpec& spec : c.operands)
    arguments.emplace_back(builder.constant(spec.shape.empty() && c.number != 0 ? Array::full(spec.dtype, {}, c.number)
                                                                                : filled(spec, c.labels, c.positive)));
  const OpRow& row = get_op(c.op);
  OpArgs all{std::vector<OpArg>(row.params.size())};
  for (size_t i = 0; i < arguments.size(); ++i) all.values[i] = arguments[i];
  for (const auto& [name, value] : c.attributes) all.values[param_index(row, name)] = value;
  const Op& op = *builder.emit(row, all)[0].tensor()->producer;
  Node node;
  node.op = &op;
  node.in.assign(op.inputs.begin(), op.inputs.end());
  node.out.assign(op.outputs.begin(), op.outputs.end());
  const Kernel kernel = cpu_kernel(node, epilogue_block);
  std::vector<Array> memory;
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  double bytes = 0;
  for (const Tensor* t : op.inputs) {
    in.push_back(t ? t->data.raw() : nullptr);
    if (t) bytes += static_cast<double>(t->spec.bytes());
  }
  for (const Tensor* t : op.outputs) {
    memory.push_back(Array::zeros(t->spec.dtype, t->spec.shape));
    out.push_back(memory.back().mutable_raw());
    bytes += static_cast<double>(t->spec.bytes());
  }
  const WorkspaceMemory workspace(workspace_bytes(kernel));
  const Buffers buffers = Buffers{in.data(), out.data()}.with_workspace(workspace.data(), kernel.workspace());
  const bool divided = worth_dividing(kernel);
  for (auto _ : state) {
    if (divided)
      run_divided(kernel, buffers);
    else
      kernel(buffers);
    benchmark::ClobberMemory();
  }
  const auto times = static_cast<double>(state.iterations());
  state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(flops_of(op)) * times, benchmark::Counter::kIsRate);
  state.counters["B/s"] = benchmark::Counter(bytes * times, benchmark::Counter::kIsRate);
}

TensorSpec f32(Shape shape) { return {std::move(shape), DType::float32, {}}; }
TensorSpec f16(Shape shape) { return {std::move(shape), DType::float16, {}}; }
TensorSpec i32(Shape shape) { return {std::move(shape), DType::int32, {}}; }
Attr axes(std::vector<int64_t> list) { return list; }

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto product = [&](int64_t m, int64_t k, int64_t n) {
    all.push_back({fmt::format("matmul/{}x{}x{}", m, k, n), "matmul", {f32({m, k}), f32({k, n})}, {}});
  };
  product(8, 784, 512);
  product(8, 512, 512);
  product(784, 8, 512);
  product(16, 784, 32);
  product(80, 784, 512);
  product(512, 784, 512);
  product(1024, 256, 768);
  product(1024, 256, 1024);
  product(1024, 1024, 256);
  all.push_back({"matmul/batched 32x128x64x128", "matmul", {f32({32, 128, 64}), f32({32, 64, 128})}, {}});
  all.push_back({"matmul/float16 8x784x512", "matmul", {f16({8, 784}), f16({784, 512})}, {}});
  all.push_back({"matmul/float16 512x784x512", "matmul", {f16({512, 784}), f16({784, 512})}, {}});
  for (const TensorSpec& spec : {f32({8, 512}), f32({512, 512}), f32({1024, 1024}), f16({1024, 1024})}) {
    const std::string size =
        fmt::format("{}{}x{}", spec.dtype == DType::float16 ? "float16 " : "", spec.shape[0], spec.shape[1]);
    for (const char* op : {"gelu", "exp"}) all.push_back({fmt::format("{}/{}", op, size), op, {spec}, {}});
    for (const char* op : {"add", "mul"}) all.push_back({fmt::format("{}/{}", op, size), op, {spec, spec}, {}});
  }
  all.push_back({"cast/float16 to float32 1024x1024", "cast", {f16({1024, 1024})}, {{"data_type", DType::float32}}});
  all.push_back({"cast/float32 to float16 1024x1024", "cast", {f32({1024, 1024})}, {{"data_type", DType::float16}}});
  for (const Shape& shape : {Shape{8, 10}, Shape{16, 10}, Shape{512, 10}, Shape{32, 128, 128}}) {
    const std::string size = fmt::format("{}", fmt::join(shape, "x"));
    all.push_back({"softmax/" + size, "softmax", {f32(shape)}, {{"axis", int64_t{-1}}}});
    all.push_back({"log_softmax/" + size, "log_softmax", {f32(shape)}, {{"axis", int64_t{-1}}}});
  }
  all.push_back({"layer_norm/1024x256", "layer_normalization", {f32({1024, 256}), f32({256}), f32({256})}, {}});
  all.push_back({"layer_norm gradient/1024x256",
                 "layer_normalization_grad",
                 {f32({1024, 256}), f32({1024, 256}), f32({256}), f32({1024}), f32({1024})},
                 {}});
  for (const Shape& shape : {Shape{16, 10}, Shape{8, 512}, Shape{512, 512}, Shape{1024, 1024}}) {
    const std::string size = fmt::format("{}", fmt::join(shape, "x"));
    for (const char* op : {"sum", "max", "mean"}) {
      all.push_back({fmt::format("{} over rows/{}", op, size), op, {f32(shape)}, {{"axis", axes({0})}}});
      all.push_back({fmt::format("{} over columns/{}", op, size), op, {f32(shape)}, {{"axis", axes({1})}}});
    }
  }
  // Those below are compared with PyTorch's by bench/ops.
  const TensorSpec images = f32({32, 64, 32, 32}), channels = f32({64}), statistics = f32({32 * 8});
  const std::vector<Given> eight = {{"num_groups", int64_t{8}}};
  all.push_back({"group_norm/32x64x32x32", "group_normalization", {images, channels, channels}, eight});
  all.push_back({"group_norm gradient/32x64x32x32",
                 "group_normalization_grad",
                 {images, images, channels, statistics, statistics},
                 eight});
  const TensorSpec square = f32({1024, 1024}), cube = f32({32, 128, 128});
  for (const char* op : {"softmax", "log_softmax"})
    for (const auto& [spec, axis] : {std::pair{square, int64_t{0}}, std::pair{cube, int64_t{1}}})
      all.push_back(
          {fmt::format("{} along axis {}/{}", op, axis, fmt::join(spec.shape, "x")), op, {spec}, {{"axis", axis}}});
  all.push_back({"softmax gradient along axis 0/1024x1024", "softmax_grad", {square, square}, {{"axis", int64_t{0}}}});
  for (const char* op : {"erf", "geluerf"}) all.push_back({fmt::format("{}/1024x1024", op), op, {square}, {}});
  all.push_back({"geluerf gradient/1024x1024", "geluerf_grad", {square, square}, {}});
  for (const char* op : {"sin", "cos", "log", "tanh", "expm1", "log1p", "sigmoid"})
    all.push_back({fmt::format("{}/1024x1024", op), op, {square}, {}, 10, true});
  for (const char* op : {"pow", "fmod", "mod", "floor_div"})
    all.push_back({fmt::format("{}/1024x1024", op), op, {square, square}, {}, 10, true});
  for (const double exponent : {-2.0, -1.0, -0.5, 0.5, 1.5, 2.0, 2.2, 3.0, 4.0})
    all.push_back({fmt::format("pow {}/1024x1024", exponent), "pow", {square, f32({})}, {}, 10, true, exponent});
  all.push_back({"prod/1024x1024", "prod", {square}, {}});
  all.push_back({"prod over rows/1024x1024", "prod", {square}, {{"axis", axes({0})}}});
  all.push_back({"prod over columns/1024x1024", "prod", {square}, {{"axis", axes({1})}}});
  for (const int64_t rows : {int64_t{8}, int64_t{512}})
    all.push_back({fmt::format("nll_loss_with_softmax_grad/{}x10", rows),
                   "nll_loss_with_softmax_grad_direct",
                   {f32({rows, 10}), i32({rows}), f32({})},
                   {},
                   10,
                   true});
  all.push_back({"nll_loss/512x10", "nll_loss", {f32({512, 10}), i32({512})}, {{"log_prob", true}}});
  return all;
}

const bool registered = [] {
  for (const Case& c : cases())
    benchmark::RegisterBenchmark(c.name.c_str(), [c](benchmark::State& state) { run(state, c); })->UseRealTime();
  return true;
}();

}  // namespace
