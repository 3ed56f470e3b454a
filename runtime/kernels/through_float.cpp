// See through_float.hpp.
#include "runtime/kernels/through_float.hpp"

#include <algorithm>
#include <array>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/elementwise/float8.hpp"
#include "runtime/kernels/prepared.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {
namespace {

// To convert one number, in single-core ns.
constexpr double ns_per_conversion = 0.3;

/// Widens float8 numbers by the values of their 256 codes, times two to the power in `scale`, which follows the
/// operand.
Kernel widening(int64_t size, DType dtype, std::optional<size_t> scale) {
  WorkspaceLayout workspace;
  const auto table = workspace.per_call<float>(256);
  std::vector<Phase> phases;
  phases.push_back({1, 1, [=](const Buffers& b, int64_t, int64_t) {
                      const auto values = scale ? float8_table(dtype, read_log2_scale(b, *scale)) : float8_table(dtype);
                      std::copy(values.begin(), values.end(), b.workspace(table));
                    }});
  phases.push_back({size, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                      const float* const values = b.workspace(table);
                      for (int64_t k = begin; k < end; ++k) b.output<float>(0)[k] = values[b.input<uint8_t>(0)[k]];
                    }});
  return Kernel::parallel(std::move(phases), static_cast<double>(size) * ns_per_conversion).with_workspace(workspace);
}

}  // namespace

// The scale multiplies the first operand's values. Powers of two commute with every rounding of the sums. float32 has
// room for the largest and the smallest product of float8 values with any scale.
Kernel through_float(const Kernel& inner, const std::vector<NarrowOperand>& in, const NarrowOperand& out, size_t total,
                     std::optional<size_t> log2_scale) {
  const auto bytes = [](const NarrowOperand& operand) { return operand.size * static_cast<int64_t>(sizeof(float)); };
  const auto converting = [](const NarrowOperand& operand, auto part) {
    return Kernel::parallel(operand.size, 1024, static_cast<double>(operand.size) * ns_per_conversion, part);
  };
  std::vector<OtherForm> operands(std::max(total, in.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    const auto narrow = is_float8(in[i].dtype) ? nullptr : narrow_functions(in[i].dtype);
    const auto widen = [=](const Buffers& b, int64_t begin, int64_t end) {
      narrow->widen(b.input<uint16_t>(0) + begin, b.output<float>(0) + begin, end - begin);
    };
    operands[i] = {bytes(in[i]), narrow ? converting(in[i], widen)
                                        : widening(in[i].size, in[i].dtype, i == 0 ? log2_scale : std::nullopt)};
  }
  const auto round = [narrow = narrow_functions(out.dtype)](const Buffers& b, int64_t begin, int64_t end) {
    narrow->round(b.input<float>(0) + begin, b.output<uint16_t>(0) + begin, end - begin);
  };
  return on_forms(inner, operands, {bytes(out), converting(out, round)});
}

}  // namespace pxl
