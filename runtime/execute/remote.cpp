#include "runtime/execute/remote.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

RemoteStorage::RemoteStorage(const Ir& ir, const ReplicaRange& range,
                             const std::function<std::byte*(const Tensor*, int replica)>& variable)
    : first_(range.first) {
  const std::vector<RemoteBuffer>& buffers = ir.remote_buffers();
  for (int r = range.first; r < range.first + range.count && !buffers.empty(); ++r) {
    std::vector<RemoteMemory>& memories = memories_.emplace_back();
    for (const RemoteBuffer& b : buffers) try {
        memories.emplace_back(b.spec.bytes(), b.entries, b.folder);
      } catch (const Error&) {
        if (!b.folder.empty()) throw;
        throw run_error(
            fmt::format("a remote buffer of {} entries of {} needs more than memory", b.entries, text(b.spec)))
            .as(codes::memory);
      }
    for (const Tensor* v : ir.variables())
      if (v->remote) at(r, v->remote->buffer)->place(v->remote->entry, variable(v, r));
  }
}

void RemoteStorage::begin_run() {
  for (auto& memories : memories_)
    for (RemoteMemory& memory : memories) memory.begin_run();
}

void RemoteStorage::undo() {
  for (auto& memories : memories_)
    for (RemoteMemory& memory : memories) memory.undo();
}

}  // namespace pxl
