// Random calls of every function, op, module and method that a session knows, for calls.cpp.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/tools/engine.hpp"

namespace fuzz {

class Generator {
 public:
  /// `engine` has run the prelude (call_values.hpp).
  explicit Generator(pxl::Engine& engine);

  const std::vector<std::string>& names() const { return names_; }
  size_t method_count() const;
  /// Call number `number` of a seed: always the same text. Every name comes in turn, so that none depends on luck.
  std::string call(uint64_t seed, uint64_t number) const;

 private:
  using Random = std::mt19937_64;
  std::string value(Random& random, int depth) const;
  std::string subscript(Random& random, std::string text) const;
  std::string arguments(Random& random, const std::vector<std::string>& parameters, int depth) const;

  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> signatures_, methods_;
};

}  // namespace fuzz
