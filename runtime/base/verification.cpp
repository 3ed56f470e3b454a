#include "runtime/base/verification.hpp"

#include <cstdlib>
#include <string>

#include "runtime/base/diagnostic.hpp"

namespace pxl {

namespace {

constexpr bool default_on =
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__)
    true;
#else
    false;
#endif

/// 0, 1 or `run`, as a place in this order.
int read_environment() {
  const char* value = std::getenv("PXL_VERIFY");
  const std::string word = value ? value : "";
  if (word.empty()) return default_on ? 1 : 0;
  if (word == "run") return 2;
  if (word != "0" && word != "1") throw Error("PXL_VERIFY: expected 0, 1 or run, got `" + word + "`", {}, Fault::usage);
  return word == "1" ? 1 : 0;
}

int level() {
  static const int read = read_environment();
  return read;
}

}  // namespace

bool verification_enabled() { return level() > 0; }
bool verification_runs() { return level() > 1; }

}  // namespace pxl
