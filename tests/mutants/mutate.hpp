// Programs that nearly are ones: texts of a corpus, changed at bytes, tokens and lines.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace mutants {

class Mutator {
 public:
  /// The corpus may not be empty.
  explicit Mutator(std::vector<std::string> corpus);
  /// Always the same text for the same corpus, seed and number.
  std::string mutant(uint64_t seed, uint64_t number) const;

 private:
  using Random = std::mt19937_64;
  void change_bytes(std::string& text, Random& random) const;
  void change_tokens(std::string& text, Random& random) const;
  void change_lines(std::string& text, Random& random) const;
  const std::string& any_text(Random& random) const;
  std::string any_token(Random& random) const;

  std::vector<std::string> corpus_;
  std::vector<std::string> tokens_;  ///< that occur in it, the often the more often
};

}  // namespace mutants
