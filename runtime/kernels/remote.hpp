// Remote buffers: entries of equal size in memory that only remote_load and remote_store reach (off chip on an IPU).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

/// The entries of a remote buffer of one replica, zeros at first. A run that fails is undone: an entry is copied before
/// its first change in a run. Not thread-safe.
class RemoteMemory {
 public:
  /// With a folder, the entries and their copies are in a file there.
  RemoteMemory(int64_t entry_bytes, int64_t entries, const std::string& folder = {});
  /// Puts an entry elsewhere: to the memory of a variable.
  void place(int64_t entry, std::byte* memory) { entries_[static_cast<size_t>(entry)] = memory; }

  /// Throws run_error if there is no such entry.
  void check(int64_t entry) const;
  const std::byte* at(int64_t entry) const { return entries_[static_cast<size_t>(entry)]; }
  void store(int64_t entry, const std::byte* from);
  int64_t entry_bytes() const { return entry_bytes_; }

  void begin_run() { before_.clear(); }
  void undo();

 private:
  int64_t entry_bytes_;
  Array own_;
  std::optional<Array> copies_;  ///< of entries in a file; others are copied to `before_`
  std::vector<std::byte*> entries_;
  std::map<int64_t, std::vector<std::byte>> before_;  ///< entries that the run has changed; no bytes with `copies_`
};

/// Operands: memory that is overwritten (not read), the number of the entry, and the RemoteMemory. Result: the entry.
Kernel remote_load_kernel(DType entry_dtype);
/// Operands: the new contents, the number of the entry, and the RemoteMemory. No result.
Kernel remote_store_kernel(DType entry_dtype);

}  // namespace pxl
