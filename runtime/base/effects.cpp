#include "runtime/base/effects.hpp"

#include <iterator>

namespace pxl {
namespace {

thread_local Effects permitted_effects = Effects::all();

constexpr const char* effect_names[] = {
    "reads files", "reads headers of files", "writes files", "reads the environment", "time", "random",
    "prints",      "runs a session",         "computes",     "starts processes"};

}  // namespace

std::string text(Effects effects) {
  std::string out;
  for (unsigned i = 0; i < std::size(effect_names); ++i)
    if (effects.has(static_cast<Effect>(i))) out += (out.empty() ? "" : ", ") + std::string(effect_names[i]);
  return out.empty() ? "none" : out;
}

EffectScope::EffectScope(Effects permitted) : before_(permitted_effects) { permitted_effects = permitted; }
EffectScope::~EffectScope() { permitted_effects = before_; }

bool permits(Effects effects) { return effects.within(permitted_effects); }

void require_effect(Effect effect) {
  if (!permits(effect)) throw Unevaluated{};
}

}  // namespace pxl
