// See through_float.hpp.
#include "runtime/kernels/through_float.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/elementwise/float8.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {
namespace {

/// A converted operand, and for float8 the values of its 256 codes.
struct WideOperand {
  PerCall<float> values;
  PerCall<float> table;
};

}  // namespace

Kernel through_float(const Kernel& inner, const std::vector<NarrowOperand>& in, const NarrowOperand& out, size_t total,
                     std::optional<size_t> log2_scale) {
  total = std::max(total, in.size());
  WorkspaceLayout workspace(inner.workspace());
  std::vector<WideOperand> wide;
  for (const NarrowOperand& operand : in)
    wide.push_back(
        {workspace.per_call<float>(operand.size), workspace.per_call<float>(is_float8(operand.dtype) ? 256 : 0)});
  const auto wide_out = workspace.per_call<float>(out.size);
  // Pointers to the inner kernel's operands.
  const auto operands = workspace.per_thread<const std::byte*>(static_cast<int64_t>(total));
  std::vector<Phase> phases;
  double cost_ns = inner.cost_ns();
  // The scale multiplies the first operand's values. Powers of two commute with every rounding of the sums. float32 has
  // room for the largest and the smallest product of float8 values with any scale.
  for (size_t i = 0; i < in.size(); ++i)
    if (is_float8(in[i].dtype))
      phases.push_back({1, 1,
                        [table = wide[i].table, dtype = in[i].dtype, slot = i == 0 ? log2_scale : std::nullopt](
                            const Buffers& b, int64_t, int64_t) {
                          const std::array<float, 256> values =
                              slot ? float8_table(dtype, read_log2_scale(b, *slot)) : float8_table(dtype);
                          std::copy(values.begin(), values.end(), b.workspace(table));
                        }});
  for (size_t i = 0; i < in.size(); ++i) {
    cost_ns += static_cast<double>(in[i].size) * 0.3;
    if (is_float8(in[i].dtype))
      phases.push_back({in[i].size, 1024, [operand = wide[i], i](const Buffers& b, int64_t begin, int64_t end) {
                          const uint8_t* from = b.input<uint8_t>(i);
                          const float* table = b.workspace(operand.table);
                          float* to = b.workspace(operand.values);
                          for (int64_t k = begin; k < end; ++k) to[k] = table[from[k]];
                        }});
    else
      phases.push_back({in[i].size, 1024,
                        [values = wide[i].values, i, narrow = narrow_functions(in[i].dtype)](
                            const Buffers& b, int64_t begin, int64_t end) {
                          narrow->widen(b.input<uint16_t>(i) + begin, b.workspace(values) + begin, end - begin);
                        }});
  }
  for (const Phase& phase : inner.phases())
    phases.push_back(
        {phase.iterations, phase.grain, [=, part = phase.part](const Buffers& b, int64_t begin, int64_t end) {
           const std::byte** from = b.workspace(operands);
           for (size_t i = 0; i < total; ++i)
             from[i] = i < wide.size() ? reinterpret_cast<const std::byte*>(b.workspace(wide[i].values)) : b.in[i];
           std::byte* to = reinterpret_cast<std::byte*>(b.workspace(wide_out));
           part(b.with(from, &to), begin, end);
         }});
  phases.push_back(
      {out.size, 1024, [=, narrow = narrow_functions(out.dtype)](const Buffers& b, int64_t begin, int64_t end) {
         narrow->round(b.workspace(wide_out) + begin, b.output<uint16_t>(0) + begin, end - begin);
       }});
  return Kernel::parallel(std::move(phases), cost_ns + static_cast<double>(out.size) * 0.3).with_workspace(workspace);
}

}  // namespace pxl
