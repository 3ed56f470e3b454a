// Working memory of kernels. A kernel declares its needs when it is made (WorkspaceLayout). The code that runs it
// provides memory of that size (WorkspaceMemory, or a program for all of its kernels), so that running allocates
// nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pxl {

/// Alignment of every array in a workspace, in bytes: a cache line, and an AVX-512 vector.
inline constexpr size_t workspace_alignment = 64;

/// Bytes that one run of a kernel needs, multiples of workspace_alignment.
struct WorkspaceSize {
  size_t per_call = 0;    ///< shared by all threads, from the first phase to the last
  size_t per_thread = 0;  ///< private to a thread, during one chunk of one phase

  bool empty() const { return per_call == 0 && per_thread == 0; }
  size_t bytes(size_t threads) const { return per_call + threads * per_thread; }
  friend bool operator==(const WorkspaceSize&, const WorkspaceSize&) = default;
};

/// Size for kernels whose chunks a thread runs one after another: arrays per call are kept apart, arrays per thread
/// overlay each other.
constexpr WorkspaceSize interleaved(const WorkspaceSize& a, const WorkspaceSize& b) {
  return {a.per_call + b.per_call, std::max(a.per_thread, b.per_thread)};
}

/// Handles of arrays in a workspace, which Buffers::workspace resolves.
template <class T>
struct PerCall {
  size_t offset = 0;
};
template <class T>
struct PerThread {
  size_t offset = 0;
};

/// Places a kernel's arrays one after another. Contents are uninitialised.
class WorkspaceLayout {
 public:
  WorkspaceLayout() = default;
  /// Begins after the workspace of a kernel (or epilogue) that runs within this one.
  explicit WorkspaceLayout(const WorkspaceSize& nested) : size_(nested) {}

  template <class T>
  PerCall<T> per_call(int64_t elements) {
    return {place<T>(size_.per_call, elements)};
  }
  template <class T>
  PerThread<T> per_thread(int64_t elements) {
    return {place<T>(size_.per_thread, elements)};
  }
  const WorkspaceSize& size() const { return size_; }

 private:
  template <class T>
  static size_t place(size_t& end, int64_t elements) {
    static_assert(alignof(T) <= workspace_alignment);
    const size_t begin = end, bytes = static_cast<size_t>(std::max<int64_t>(0, elements)) * sizeof(T);
    end += (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    return begin;
  }

  WorkspaceSize size_;
};

/// Uninitialised memory for workspaces, aligned to workspace_alignment; from a few MiB on, on huge pages if the system
/// grants them. Throws std::bad_alloc.
class WorkspaceMemory {
 public:
  WorkspaceMemory() = default;
  explicit WorkspaceMemory(size_t bytes);
  std::byte* data() const { return data_; }

 private:
  std::unique_ptr<std::byte[]> block_;
  std::byte* data_ = nullptr;
};

}  // namespace pxl
