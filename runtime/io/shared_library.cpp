#include "runtime/io/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

void* SharedLibrary::address(const char* name) {
  if (!handle_) handle_ = ::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) {
    Error e = run_error(fmt::format("the library {} was not found", file_));
    e.first().notes.push_back(fmt::format("install the package {}", package_));
    throw e;
  }
  void* found = ::dlsym(handle_, name);
  if (!found) throw run_error(fmt::format("the library {} has no {}", file_, name));
  return found;
}

}  // namespace pxl
