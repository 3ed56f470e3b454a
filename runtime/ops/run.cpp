#include "runtime/ops/run.hpp"

#include "runtime/base/subnormals.hpp"
#include "runtime/kernels/interruptible.hpp"
#include "runtime/ops/definitions.hpp"

namespace pxl {

std::vector<Array> run_op(const OpSite& site, std::vector<Array> in) {
  const OpRow& row = site.row;
  std::vector<const std::byte*> from(in.size(), nullptr);
  std::vector<std::byte*> changed(in.size(), nullptr);
  for (size_t i = 0; i < in.size(); ++i) {
    if (!site.has(i)) continue;
    if (row.modifies >> i & 1) {
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
  const Kernel kernel = kernel_of(site);
  const FlushSubnormals flush;  // as where programs run
  run_interruptibly(kernel, Buffers{from.data(), to.data()});
  return out;
}

}  // namespace pxl
