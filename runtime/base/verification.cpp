#include "runtime/base/verification.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/settings.hpp"

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
  const std::string word = setting(Setting::verify);
  if (word.empty()) return default_on ? Level::on : Level::off;
  return static_cast<Level>(std::find(std::begin(words), std::end(words), word) - std::begin(words));
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
