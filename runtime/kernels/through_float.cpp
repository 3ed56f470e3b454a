// See through_float.hpp.
#include "runtime/kernels/through_float.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "runtime/kernels/block.hpp"
#include "runtime/kernels/float8.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {
namespace {

/// Memory of a kernel's own, one copy for all copies of the kernel: a program runs its steps one after the other.
struct Wide {
  std::vector<std::vector<float>> in;
  std::vector<std::array<float, 256>> tables;  ///< of float8 operands
  std::vector<float> out;
};

/// The buffers of the inner kernel during one call.
struct Inner {
  std::vector<const std::byte*> in;
  std::byte* out;
  Inner(const Wide& wide, const Buffers& b, size_t total) : in(total), out(nullptr) {
    for (size_t i = 0; i < total; ++i)
      in[i] = i < wide.in.size() ? reinterpret_cast<const std::byte*>(wide.in[i].data()) : b.in[i];
    out = reinterpret_cast<std::byte*>(const_cast<float*>(wide.out.data()));
  }
  Buffers buffers() { return {in.data(), &out}; }
};

}  // namespace

Kernel through_float(const Kernel& inner, const std::vector<NarrowOperand>& in, int64_t out, size_t total,
                     std::optional<size_t> log2_scale) {
  const auto wide = std::make_shared<Wide>();
  for (const NarrowOperand& operand : in) {
    wide->in.emplace_back(static_cast<size_t>(operand.size));
    wide->tables.push_back(is_float8(operand.dtype) ? float8_table(operand.dtype) : std::array<float, 256>{});
  }
  wide->out.resize(static_cast<size_t>(out));
  total = std::max(total, in.size());
  std::vector<Phase> phases;
  double cost_ns = inner.cost_ns();
  // The scale goes into the first operand's values: powers of two commute with every rounding of the sums, and float32
  // has room for the largest and the smallest product of float8 values with any scale.
  if (log2_scale)
    phases.push_back({1, 1, [wide, dtype = in.at(0).dtype, slot = *log2_scale](const Buffers& b, int64_t, int64_t) {
                        wide->tables[0] = float8_table(dtype, read_log2_scale(b, slot));
                      }});
  for (size_t i = 0; i < in.size(); ++i) {
    cost_ns += static_cast<double>(in[i].size) * 0.3;
    if (is_float8(in[i].dtype))
      phases.push_back({in[i].size, 1024, [wide, i](const Buffers& b, int64_t begin, int64_t end) {
                          const uint8_t* from = b.input<uint8_t>(i);
                          const std::array<float, 256>& table = wide->tables[i];
                          for (int64_t k = begin; k < end; ++k) wide->in[i][static_cast<size_t>(k)] = table[from[k]];
                        }});
    else
      phases.push_back({in[i].size, 1024, [wide, i](const Buffers& b, int64_t begin, int64_t end) {
                          bulk().half_to_float(b.input<uint16_t>(i) + begin, wide->in[i].data() + begin, end - begin);
                        }});
  }
  for (const Phase& phase : inner.phases())
    phases.push_back(
        {phase.iterations, phase.grain, [=, part = phase.part](const Buffers& b, int64_t begin, int64_t end) {
           Inner own(*wide, b, total);
           part(own.buffers(), begin, end);
         }});
  phases.push_back({out, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                      bulk().float_to_half(wide->out.data() + begin, b.output<uint16_t>(0) + begin, end - begin);
                    }});
  return Kernel::parallel(std::move(phases), cost_ns + static_cast<double>(out) * 0.3);
}

}  // namespace pxl
