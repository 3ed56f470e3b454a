// See through_float.hpp.
#include "runtime/kernels/through_float.hpp"

#include <algorithm>
#include <memory>

#include "runtime/kernels/block.hpp"

namespace pxl {
namespace {

/// Memory of a kernel's own, one copy for all copies of the kernel: a program runs its steps one after the other.
struct Wide {
  std::vector<std::vector<float>> in;
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

Kernel through_float(const Kernel& inner, const std::vector<int64_t>& in, int64_t out, size_t total) {
  const auto wide = std::make_shared<Wide>();
  for (int64_t n : in) wide->in.emplace_back(static_cast<size_t>(n));
  wide->out.resize(static_cast<size_t>(out));
  total = std::max(total, in.size());
  std::vector<Phase> phases;
  double work = inner.work();
  for (size_t i = 0; i < in.size(); ++i) {
    work += static_cast<double>(in[i]) * 0.3;
    phases.push_back({in[i], 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                        bulk().half_to_float(b.input<uint16_t>(i) + begin, wide->in[i].data() + begin, end - begin);
                      }});
  }
  for (const Phase& phase : inner.phases())
    phases.push_back({phase.units, phase.grain, [=, part = phase.part](const Buffers& b, int64_t begin, int64_t end) {
                        Inner own(*wide, b, total);
                        part(own.buffers(), begin, end);
                      }});
  phases.push_back({out, 1024, [=](const Buffers& b, int64_t begin, int64_t end) {
                      bulk().float_to_half(wide->out.data() + begin, b.output<uint16_t>(0) + begin, end - begin);
                    }});
  return Kernel::divisible(std::move(phases), work + static_cast<double>(out) * 0.3);
}

}  // namespace pxl
