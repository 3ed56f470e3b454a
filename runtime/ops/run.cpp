#include "runtime/ops/run.hpp"

#include <algorithm>
#include <span>

#include "runtime/base/limits/budget.hpp"
#include "runtime/base/threads/subnormals.hpp"
#include "runtime/kernels/interruptible.hpp"
#include "runtime/op/definitions.hpp"

namespace pxl {

double estimated_ns(const Kernel& kernel, std::span<const Array> in, std::span<const TensorSpec> out) {
  constexpr double element_ns = 5;  // above pow, the dearest elementwise function, with 3 ns
  double elements = 0;
  for (const Array& a : in) elements += static_cast<double>(a.size());
  for (const TensorSpec& s : out) elements += static_cast<double>(element_count(s.shape));
  return std::max(kernel.cost_ns(), kernel.phases().empty() ? elements * element_ns : elements);
}

bool is_shared_view(const OpContext& site) {
  const OpRow& row = site.row;
  if (row.role != Role::compute || row.modifies != 0 || row.side_effect || row.exchange != Exchange::none ||
      site.out.size() != 1 || !site.has(0))
    return false;
  const TensorSpec &in = site.input(0), &out = site.out[0];
  if (in.dtype != out.dtype || in.size() != out.size() || in.is_shard() || out.is_shard()) return false;
  return row.view || (row.layout && is_contiguous(row.layout(site, contiguous(in.shape))[0]));
}

namespace {

// Whether a look omits the elements: of large results, of results that take long, and of everything computed from
// these.
bool leaves_out(const Kernel& kernel, const std::vector<Array>& in, std::span<const TensorSpec> out) {
  const Budget* budget = current_budget();
  if (!budget) return false;
  const auto large = [&](const TensorSpec& s) {
    return element_count(s.shape) > budget->limits().array_bytes / static_cast<int64_t>(size_of(s.dtype));
  };
  return std::any_of(in.begin(), in.end(), [](const Array& a) { return !a.has_elements(); }) ||
         std::any_of(out.begin(), out.end(), large) ||
         estimated_ns(kernel, in, out) > static_cast<double>(budget->limits().kernel_ns);
}

}  // namespace

std::vector<Array> run_op(const OpContext& site, std::vector<Array> in) {
  return run_kernel(kernel_of(site), site, std::move(in));
}

std::vector<Array> run_kernel(const Kernel& kernel, const OpContext& site, std::vector<Array> in) {
  const OpRow& row = site.row;
  if (leaves_out(kernel, in, site.out)) {
    std::vector<Array> out;
    for (const TensorSpec& s : site.out) out.push_back(Array::unevaluated(s.dtype, s.shape));
    return out;
  }
  if (is_shared_view(site)) return {in[0].reshaped(site.out[0].shape)};
  if (kernel.phases().empty()) charge(static_cast<int64_t>(estimated_ns(kernel, in, site.out)));
  std::vector<const std::byte*> from(in.size(), nullptr);
  std::vector<std::byte*> changed(in.size(), nullptr);
  for (size_t i = 0; i < in.size(); ++i) {
    if (!site.has(i)) continue;
    if (modifies_slot(row, i)) {
      in[i] = in[i].clone();
      changed[i] = in[i].mutable_raw();
    }
    from[i] = in[i].raw();
  }
  std::vector<Array> out;
  std::vector<std::byte*> to;
  for (size_t i = 0; i < site.out.size(); ++i) {
    const size_t slot = i == 0 && row.alias >= 0 ? static_cast<size_t>(row.alias) : in.size();
    const bool shared = slot < in.size() && changed[slot];
    out.push_back(shared ? in[slot] : Array(site.out[i].dtype, site.out[i].shape));
    to.push_back(shared ? changed[slot] : out.back().mutable_raw());
  }
  const FlushSubnormals flush;  // as in runs of programs
  run_interruptibly(kernel, Buffers{from.data(), to.data()});
  return out;
}

}  // namespace pxl
