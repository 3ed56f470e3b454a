// Remote buffers: entries of equal size in memory that only remote_load and remote_store reach (off chip on an IPU).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

/// The entries of one replica's remote buffer, initially zeros. A failed run is undone: an entry's first change in a
/// run goes to the entry's second memory, which is kept for later runs. Not thread-safe.
class RemoteMemory {
 public:
  /// If `folder` is given, files in it hold both memories of the entries.
  RemoteMemory(int64_t entry_bytes, int64_t entries, const std::string& folder = {});
  /// Moves an entry to other memory: that of a variable.
  void place(int64_t entry, std::byte* memory) { entries_[static_cast<size_t>(entry)] = {memory, true}; }

  /// Throws run_error if there is no such entry.
  void check(int64_t entry) const;
  const std::byte* at(int64_t entry) const { return entries_[static_cast<size_t>(entry)].memory; }
  /// Keeps the entry's contents, unless the run has changed the entry before. The caller then writes all new contents
  /// to written(entry).
  void replace(int64_t entry);
  std::byte* written(int64_t entry) { return entries_[static_cast<size_t>(entry)].memory; }

  void begin_run() { changed_.clear(); }
  void undo();

 private:
  struct Entry {
    std::byte* memory;
    bool variable = false;  ///< stays where it is
  };
  /// The second memory of an entry. It holds the contents before the run if the run has changed the entry.
  std::byte* second(int64_t entry);

  int64_t entry_bytes_;
  Array first_, second_;  ///< the second memory's pages exist once they are written
  std::vector<Entry> entries_;
  std::set<int64_t> changed_;  ///< entries that the run changed
};

/// Kernels for one entry with `bytes` bytes, whose number has `entry_dtype`. Operands: memory that is overwritten (not
/// read), the number of the entry, and the RemoteMemory. Result: the entry.
Kernel remote_load_kernel(DType entry_dtype, int64_t bytes);
/// Operands: the new contents, the number of the entry, and the RemoteMemory. No result.
Kernel remote_store_kernel(DType entry_dtype, int64_t bytes);

}  // namespace pxl
