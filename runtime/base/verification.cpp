#include "runtime/base/verification.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/base/diagnostic.hpp"

namespace pxl {

namespace {

constexpr bool default_on =
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__)
    true;
#else
    false;
#endif

enum class Level : uint8_t { off, on, run, text };
constexpr std::string_view words[] = {"0", "1", "run", "text"};

Level read_environment() {
  const char* value = std::getenv("PXL_VERIFY");
  const std::string word = value ? value : "";
  if (word.empty()) return default_on ? Level::on : Level::off;
  const auto found = std::find(std::begin(words), std::end(words), word);
  if (found == std::end(words))
    throw Error("PXL_VERIFY: expected 0, 1, run or text, got `" + word + "`", {}, Fault::usage);
  return static_cast<Level>(found - std::begin(words));
}

Level level() {
  static const Level read = read_environment();
  return read;
}

}  // namespace

bool verification_enabled() { return level() != Level::off; }
bool verification_runs() { return level() == Level::run; }
bool verification_reads() { return level() == Level::text; }

}  // namespace pxl
