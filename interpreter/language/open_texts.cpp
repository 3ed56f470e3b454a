#include "interpreter/language/open_texts.hpp"

namespace pxl {

namespace fs = std::filesystem;

std::string real_path(const fs::path& path) {
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(path, failed);
  return failed ? path.lexically_normal().string() : real.string();
}

void OpenTexts::add(const std::string& path, const std::string& real, std::shared_ptr<const SourceFile> text) {
  by_real_path_[real] = text;
  by_path_[path] = std::move(text);
}

const SourceFile* OpenTexts::find(const fs::path& path) {
  const std::string normal = path.lexically_normal().string(), real = real_path(path);
  looked_for_.insert({normal, real});
  if (const auto found = by_path_.find(normal); found != by_path_.end()) return found->second.get();
  const auto found = by_real_path_.find(real);
  return found == by_real_path_.end() ? nullptr : found->second.get();
}

}  // namespace pxl
