// The table of engines.
#include "runtime/execute/engines/engine.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/execute/engines/engines.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {

namespace {

constexpr EngineRow engines[] = {
#define PXL_ENGINE(name, doc) {#name, doc, make_##name##_engine},
#include "runtime/execute/engines/engines.inc"
#undef PXL_ENGINE
};

std::string& chosen() {
  static auto& name = never_destroyed([] {
    const std::string value = setting(Setting::engine);
    return value.empty() ? std::string(engines[0].name) : value;
  }());
  return name;
}

}  // namespace

std::span<const EngineRow> engine_table() { return engines; }

const EngineRow& find_engine(const std::string& name) {
  std::vector<std::string> names;
  for (const EngineRow& row : engines) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  std::vector<std::string> notes = {fmt::format("engines are {}", join_texts(names, ", "))};
  if (std::string hint = did_you_mean(name, names); !hint.empty()) notes.insert(notes.begin(), hint);
  throw Error(fmt::format("unknown engine \"{}\"", name), std::move(notes)).as(codes::session);
}

const std::string& default_engine() { return chosen(); }
void set_default_engine(const std::string& name) { chosen() = find_engine(name).name; }

Error goes_on_beyond_bound(const Op& loop) {
  return run_error(fmt::format("the condition of `{}` still holds after {} iterations, its bound", called_name(loop),
                               iteration_limit(loop)),
                   {"a larger `bound` allows more"})
      .as(codes::value);
}

}  // namespace pxl
