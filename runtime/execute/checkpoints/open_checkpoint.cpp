// Checkpoints whose arrays are read when they are needed, and their metadata.
#include <fmt/format.h>

#include <memory>
#include <mutex>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/execute/checkpoints/checkpoint.hpp"

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

std::vector<NamedSpec> read_checkpoint_header(const std::string& path) {
  require_effect(Effect::reads_headers);
  constexpr int64_t longest = int64_t{1} << 20;
  std::string why;
  unsigned char length[8] = {};
  std::optional<InputFile> file = InputFile::open(path, why);
  int64_t bytes = file && file->read(length, 8) == 8 ? 0 : longest;
  for (size_t i = 8; i-- > 0 && bytes < longest;) bytes = bytes << 8 | length[i];
  if (bytes >= longest) throw Error(fmt::format("cannot read the header of {}", path), {}, Fault::unreadable);
  const EffectScope reading(Effect::reads_files);
  return CheckpointFile(path).entries();
}

std::vector<std::pair<std::string, std::string>> read_checkpoint_metadata(const std::string& path) {
  return CheckpointFile(path).metadata();
}

}  // namespace pxl
