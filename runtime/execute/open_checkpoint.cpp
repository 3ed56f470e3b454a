// Checkpoints whose arrays are read when they are needed, and their metadata.
#include <memory>
#include <mutex>

#include "runtime/base/effects.hpp"
#include "runtime/execute/checkpoint.hpp"

namespace pxl {

std::vector<NamedArray> open_checkpoint(const std::string& path) {
  /// Arrays may be needed by several threads; the file has one place.
  struct Shared {
    explicit Shared(const std::string& p) : file(p) {}
    CheckpointFile file;
    std::mutex mutex;
  };
  const auto shared = std::make_shared<Shared>(path);
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < shared->file.entries().size(); ++i) {
    const NamedSpec& e = shared->file.entries()[i];
    arrays.push_back({e.name, Array::lazy(e.spec.dtype, e.spec.shape, [shared, i] {
                        require_effect(Effect::reads_files);
                        const std::lock_guard lock(shared->mutex);
                        return shared->file.read(i);
                      })});
  }
  return arrays;
}

std::vector<std::pair<std::string, std::string>> read_checkpoint_metadata(const std::string& path) {
  return CheckpointFile(path).metadata();
}

}  // namespace pxl
