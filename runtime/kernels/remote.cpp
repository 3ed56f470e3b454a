#include "runtime/kernels/remote.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/base/mapped_file.hpp"

namespace pxl {

RemoteMemory::RemoteMemory(int64_t entry_bytes, int64_t entries, const std::string& folder)
    : entry_bytes_(entry_bytes) {
  const int64_t bytes = element_count({entries, entry_bytes});
  if (folder.empty()) {
    own_ = Array::zeros(DType::uint8, {bytes});
  } else {
    own_ = Array::wrap(DType::uint8, {bytes}, map_unnamed_file(folder, bytes));
    copies_ = Array::wrap(DType::uint8, {bytes}, map_unnamed_file(folder, bytes));
  }
  for (int64_t i = 0; i < entries; ++i) entries_.push_back(own_.mutable_raw() + i * entry_bytes);
}

void RemoteMemory::check(int64_t entry) const {
  const auto count = static_cast<int64_t>(entries_.size());
  if (entry >= 0 && entry < count) return;
  throw run_error(fmt::format("entry {} is out of range for a remote buffer of {} {}", entry, count,
                              count == 1 ? "entry" : "entries"))
      .as(codes::index);
}

void RemoteMemory::store(int64_t entry, const std::byte* from) {
  std::byte* to = entries_[static_cast<size_t>(entry)];
  if (const auto [kept, first] = before_.try_emplace(entry); first) {
    if (copies_)
      std::copy_n(to, entry_bytes_, copies_->mutable_raw() + entry * entry_bytes_);
    else
      kept->second.assign(to, to + entry_bytes_);
  }
  std::copy_n(from, entry_bytes_, to);
}

void RemoteMemory::undo() {
  for (const auto& [entry, bytes] : before_)
    std::copy_n(copies_ ? copies_->mutable_raw() + entry * entry_bytes_ : bytes.data(), entry_bytes_,
                entries_[static_cast<size_t>(entry)]);
  before_.clear();
}

namespace {

/// The further operand of the ops, and the entry that operand 1 names.
RemoteMemory& memory_of(const Buffers& b) {
  return *const_cast<RemoteMemory*>(reinterpret_cast<const RemoteMemory*>(b.in[2]));
}
int64_t entry_of(const Buffers& b, DType dtype) {
  return with_type(dtype, [&]<class T>(type_tag<T>) -> int64_t {
    if constexpr (std::is_integral_v<T>) {
      const auto entry = static_cast<int64_t>(*b.input<T>(1));
      memory_of(b).check(entry);
      return entry;
    }
    return 0;  // not an integer, which the graph has refused
  });
}

}  // namespace

Kernel remote_load_kernel(DType entry_dtype) {
  return Kernel([entry_dtype](const Buffers& b) {
    const int64_t entry = entry_of(b, entry_dtype);
    std::copy_n(memory_of(b).at(entry), memory_of(b).entry_bytes(), b.out[0]);
  });
}

Kernel remote_store_kernel(DType entry_dtype) {
  return Kernel([entry_dtype](const Buffers& b) {
    const int64_t entry = entry_of(b, entry_dtype);
    memory_of(b).store(entry, b.in[0]);
  });
}

}  // namespace pxl
