// What a transform does to an Ir that a program is building: it leaves the attributes of the next op, and adds all or
// nothing.
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Restores origin, name scopes, IPU and tile set of an Ir; they are empty during its lifetime.
class BuildStateGuard {
 public:
  explicit BuildStateGuard(Ir& ir)
      : ir_(ir), origin_(ir.origin), scopes_(std::move(ir.name_scopes)), ipu_(ir.ipu), io_(ir.io_tiles) {
    ir_.name_scopes.clear();
    ir_.ipu.reset();
    ir_.io_tiles = false;
  }
  ~BuildStateGuard() {
    ir_.origin = std::move(origin_);
    ir_.name_scopes = std::move(scopes_);
    ir_.ipu = ipu_;
    ir_.io_tiles = io_;
  }
  BuildStateGuard(const BuildStateGuard&) = delete;
  BuildStateGuard& operator=(const BuildStateGuard&) = delete;

 private:
  Ir& ir_;
  Origin origin_;
  std::vector<std::string> scopes_;
  std::optional<int> ipu_;
  bool io_;
};

/// Calls f. What it added to the Ir is removed if it throws.
template <class F>
decltype(auto) all_or_nothing(Ir& ir, F&& f) {
  const auto mark = ir.mark();
  try {
    return f();
  } catch (...) {
    ir.rollback(*mark);
    throw;
  }
}

}  // namespace pxl
