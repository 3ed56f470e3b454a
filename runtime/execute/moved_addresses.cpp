#include "runtime/execute/moved_addresses.hpp"

#include "runtime/op/definitions.hpp"

namespace pxl {

std::vector<uint64_t> moved_addresses(const OpContext& site, const std::vector<std::vector<uint64_t>>& addresses) {
  std::vector<TensorSpec> specs;
  std::vector<const std::byte*> from;
  for (size_t i = 0; i < site.in.size(); ++i) {
    specs.push_back(site.has(i) ? site.input(i) : TensorSpec{});
    specs.back().dtype = DType::uint64;
    from.push_back(reinterpret_cast<const std::byte*>(addresses[i].data()));
  }
  std::vector<const TensorSpec*> slots;
  for (size_t i = 0; i < specs.size(); ++i) slots.push_back(site.has(i) ? &specs[i] : nullptr);
  TensorSpec out = site.out[0];
  out.dtype = DType::uint64;
  std::vector<uint64_t> moved(static_cast<size_t>(out.size()));
  std::byte* to = reinterpret_cast<std::byte*>(moved.data());
  const OpContext moving{.row = site.row, .in = slots, .attrs = site.attrs, .out = {&out, 1}};
  definition_kernel(moving)(Buffers{from.data(), &to});
  return moved;
}

}  // namespace pxl
