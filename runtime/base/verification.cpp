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

bool read_environment() {
  const char* value = std::getenv("PXL_VERIFY");
  const std::string word = value ? value : "";
  if (word.empty()) return default_on;
  if (word != "0" && word != "1") throw Error("PXL_VERIFY: expected 0 or 1, got `" + word + "`", {}, Fault::usage);
  return word == "1";
}

}  // namespace

bool verification_enabled() {
  static const bool enabled = read_environment();
  return enabled;
}

}  // namespace pxl
