#include "tests/mutants/mutate.hpp"

#include <algorithm>
#include <array>

#include "interpreter/syntax/classify.hpp"

namespace mutants {
namespace {

constexpr size_t longest = 60000;  ///< bytes of a mutant

// Texts that break readers and evaluators: limits of numbers, odd letters, openers without closers.
// clang-format off
constexpr const char* extremes[] = {
    "0", "-1", "1e400", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0x", "1_000",
    "4294967296", "1e-400", "inf", "nan", "none", "true", "[]", "{}", "()", "(,)", "\"\"", "\"\"\"", "f\"{", "f\"{x:",
    "}", "{", "(", "]", "...", "**", "=>", "##", "#", "\\", "\r", "\r\n", "\t", "\0", "\xEF\xBB\xBF", "\xC3\xA4",
    "\xF0\x9F\x98\x80", "\xFF", "e\xCC\x81", "self", "ir", "_", "with", "outlined", "build(", "param", "stream out",
    "ref", "float32[", "tensor[..., d]",
};
// clang-format on

size_t below(std::mt19937_64& random, size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); }

struct Piece {
  size_t begin, end;
};

std::vector<Piece> pieces_of(const std::string& text) {
  const pxl::SourceFile source("", text);
  std::vector<Piece> out;
  for (const pxl::ClassifiedToken& t : pxl::classify_tokens(source)) out.push_back({t.begin, t.end});
  return out;
}

std::vector<Piece> lines_of(const std::string& text) {
  std::vector<Piece> out;
  for (size_t at = 0; at < text.size();) {
    const size_t newline = text.find('\n', at);
    const size_t end = newline == text.npos ? text.size() : newline + 1;
    out.push_back({at, end});
    at = end;
  }
  return out;
}

}  // namespace

Mutator::Mutator(std::vector<std::string> corpus) : corpus_(std::move(corpus)) {
  for (const std::string& text : corpus_)
    for (const Piece& p : pieces_of(text))
      if (p.end - p.begin < 40) tokens_.push_back(text.substr(p.begin, p.end - p.begin));
  for (const char* word : extremes) tokens_.insert(tokens_.end(), 1 + tokens_.size() / 2000, word);
}

const std::string& Mutator::any_text(Random& random) const { return corpus_[below(random, corpus_.size())]; }
std::string Mutator::any_token(Random& random) const { return tokens_[below(random, tokens_.size())]; }

std::string Mutator::mutant(uint64_t seed, uint64_t number) const {
  Random random(seed * 0x9E3779B97F4A7C15u + number);
  std::string text = any_text(random);
  // A large file is seen by parts too.
  if (const auto lines = lines_of(text); lines.size() > 60 && below(random, 2)) {
    const size_t from = below(random, lines.size()), to = std::min(lines.size() - 1, from + below(random, 60));
    text = text.substr(lines[from].begin, lines[to].end - lines[from].begin);
  }
  for (size_t changes = 1 + below(random, below(random, 4) == 0 ? 12 : 3); changes > 0; --changes) {
    switch (below(random, 8)) {
      case 0: change_bytes(text, random); break;
      case 1:
      case 2: change_lines(text, random); break;
      default: change_tokens(text, random); break;
    }
    if (text.size() > longest) text.resize(longest);
  }
  return text;
}

void Mutator::change_bytes(std::string& text, Random& random) const {
  const size_t at = below(random, text.size() + 1), some = 1 + below(random, 8);
  switch (below(random, 5)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(random());
      break;
    case 1: text.insert(at, 1, static_cast<char>(random())); break;
    case 2: text.erase(std::min(at, text.size()), some); break;
    case 3: text.resize(at); break;
    default: text.insert(at, text.substr(below(random, text.size() + 1), below(random, 64))); break;
  }
}

void Mutator::change_tokens(std::string& text, Random& random) const {
  const std::vector<Piece> pieces = pieces_of(text);
  if (pieces.empty()) {
    text += any_token(random);
    return;
  }
  const size_t i = below(random, pieces.size()), j = std::min(pieces.size() - 1, i + below(random, 12));
  const Piece one = pieces[i];
  const std::string span = text.substr(one.begin, pieces[j].end - one.begin);
  switch (below(random, 8)) {
    case 0: text.erase(one.begin, one.end - one.begin); break;
    case 1: text.insert(one.end, " " + any_token(random) + " "); break;
    case 2:
    case 3: text.replace(one.begin, one.end - one.begin, any_token(random)); break;
    case 4: text.replace(one.begin, one.end - one.begin, extremes[below(random, std::size(extremes))]); break;
    case 5: text.insert(one.begin, span + " "); break;
    case 6: {  // the same token elsewhere in the text
      const Piece other = pieces[below(random, pieces.size())];
      text.replace(one.begin, one.end - one.begin, text.substr(other.begin, other.end - other.begin));
      break;
    }
    default: {  // deep, at times
      const size_t depth = below(random, 4) == 0 ? 150 + below(random, 100) : 1 + below(random, 4);
      constexpr std::array<std::pair<const char*, const char*>, 6> around = {
          {{"(", ")"}, {"[", "]"}, {"f(", ")"}, {"{1: ", "}"}, {"not ", ""}, {"1 + (", ")"}}};
      const auto& [open, close] = around[below(random, around.size())];
      std::string before, after;
      for (size_t k = 0; k < depth; ++k) before += open, after += close;
      text.replace(one.begin, span.size(), before + span + after);
    }
  }
}

void Mutator::change_lines(std::string& text, Random& random) const {
  const std::vector<Piece> lines = lines_of(text);
  if (lines.empty()) return;
  const size_t i = below(random, lines.size()), j = std::min(lines.size() - 1, i + below(random, 6));
  const std::string block = text.substr(lines[i].begin, lines[j].end - lines[i].begin);
  switch (below(random, 4)) {
    case 0: text.erase(lines[i].begin, block.size()); break;
    case 1: text.insert(lines[i].begin, block); break;
    case 2: {
      text.erase(lines[i].begin, block.size());
      const auto rest = lines_of(text);
      text.insert(rest.empty() ? 0 : rest[below(random, rest.size())].begin, block);
      break;
    }
    default: {
      const std::string& other = any_text(random);
      const auto theirs = lines_of(other);
      if (theirs.empty()) return;
      const size_t k = below(random, theirs.size()), l = std::min(theirs.size() - 1, k + below(random, 10));
      text.insert(lines[i].begin, other.substr(theirs[k].begin, theirs[l].end - theirs[k].begin));
    }
  }
}

}  // namespace mutants
