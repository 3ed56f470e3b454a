// The effects that code may have outside the program. Each host function states its effects; a look at a program
// (check, schedule, graph, profile, doc, an editor) permits some of them and refuses the others. The scope applies to
// one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "runtime/base/unevaluated.hpp"

namespace pxl {

enum class Effect : uint8_t {
  reads_files,
  reads_headers,  ///< dtypes and shapes of the arrays in a file, nothing else of it
  writes_files,
  reads_environment,
  time,
  random,
  prints,
  runs_session,
  computes,  ///< runs ops outside a session: `eval`, calls of derivatives
  starts_processes,
};

/// A set of effects. There is no default: a declaration of a function states `no_effects` or the function's effects.
class Effects {
 public:
  constexpr Effects(Effect e) : bits_(bit(e)) {}
  constexpr Effects(std::initializer_list<Effect> list) : bits_(0) {
    for (const Effect e : list) bits_ |= bit(e);
  }
  static constexpr Effects none() { return Effects(0u); }
  static constexpr Effects all() { return Effects(~0u); }
  constexpr bool has(Effect e) const { return bits_ & bit(e); }
  constexpr bool empty() const { return bits_ == 0; }
  /// Whether `other` includes all of these.
  constexpr bool within(Effects other) const { return (bits_ & ~other.bits_) == 0; }
  constexpr bool operator==(const Effects&) const = default;

 private:
  explicit constexpr Effects(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(Effect e) { return uint32_t{1} << static_cast<unsigned>(e); }
  uint32_t bits_;
};

inline constexpr Effects no_effects = Effects::none();

/// Effects that a look permits: none. A look's command reads the file and its imports before the look begins.
inline constexpr Effects look_effects = no_effects;
/// The same for a command of the user.
inline constexpr Effects command_effects = Effect::reads_headers;
/// With --run: all but those that change something outside the program, or run a session.
inline constexpr Effects evaluation_effects{Effect::reads_files, Effect::reads_headers, Effect::reads_environment,
                                            Effect::time,        Effect::random,        Effect::computes};

/// "reads files, prints"; "none".
std::string text(Effects effects);

/// While it lives, this thread has these effects and no others.
class EffectScope {
 public:
  explicit EffectScope(Effects permitted);
  ~EffectScope();
  EffectScope(const EffectScope&) = delete;
  EffectScope& operator=(const EffectScope&) = delete;

 private:
  Effects before_;
};

/// Whether this thread may have these effects now.
bool permits(Effects effects);
/// Throws Unevaluated if the effect is not permitted. Called immediately before the effect.
void require_effect(Effect effect);

}  // namespace pxl
