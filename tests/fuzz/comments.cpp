// Inserts comments between the tokens of programs, formats them, and compares.
//
//   comments [--every N] [--seed S] FOLDER...
//
// Each .pxl file below the folders makes one text per token (per N tokens). It has a comment before the token, and in
// every second text one after it. The formatted text keeps comments and tokens, in their order and places. It formats
// to itself. No line ends with a space. Lines within a statement are indented further than the statement.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "interpreter/syntax/format/format.hpp"
#include "interpreter/syntax/format/format_tokens.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/syntax/tokens.hpp"

namespace {

using namespace pxl;
using namespace pxl::syntax;

TokenList tokens_of(const SourceFile& source) {
  TokenList list = resolve_newlines(source);
  assign_roles(list);
  return list;
}

bool closes(int type) {
  return type == ids::RPAREN || type == ids::RBRACKET || type == ids::DICT_CLOSE || type == ids::BLOCK_CLOSE ||
         type == ids::ELSE || type == ids::ELSE_IF;
}

/// Each inserted comment with the number of tokens before it, apart from newlines and those that follow a line.
std::vector<std::string> places(const TokenList& list) {
  std::vector<std::string> out;
  size_t next = 0, before = 0;
  for (const Token& t : list.tokens) {
    for (; next < list.comments.size() && list.comments[next].begin < t.begin; ++next) {
      const Comment& c = list.comments[next];
      const std::string_view text = list.source->text().substr(c.begin, c.end - c.begin);
      if (text.starts_with("# inserted")) out.push_back(std::string(text) + " after " + std::to_string(before));
    }
    before += t.type != ids::NEWLINE && !follows_line(t.type);
  }
  return out;
}

std::string spelled(const TokenList& list) {
  std::string out;
  for (uint32_t i = 0; i < list.tokens.size(); ++i)
    out += list.tokens[i].type == ids::NEWLINE ? "\n" : std::string(list.text(i)) + " ";
  return out;
}

uint32_t column(const SourceFile& source, uint32_t at) { return at - source.line_start(source.position(at).line); }

/// The first line within a statement that is not indented further than the statement; 0 if there is none.
int shallow_line(const TokenList& list) {
  const SourceFile& source = *list.source;
  std::vector<uint32_t> indents{0};  // of the statements that are open, outermost first
  bool starts = true;
  int last_line = 0;
  uint32_t verbatim = 0;  // the end of an f-string, which keeps its lines
  for (const Token& t : list.tokens) {
    if (t.type == end_of_text) break;
    if (t.begin < verbatim) continue;
    if (t.type == ids::FSTRING_OPEN && t.partner != no_token) verbatim = list.tokens[t.partner].end;
    if (t.type == ids::NEWLINE) {
      starts = true;
      continue;
    }
    const int line = source.position(t.begin).line;
    const uint32_t at = column(source, t.begin);
    if (t.type == ids::BLOCK_CLOSE) indents.pop_back();
    if (starts && t.type != ids::BLOCK_CLOSE)
      indents.back() = at;
    else if (line != last_line && !closes(t.type) && at <= indents.back())
      return line;
    starts = false;
    last_line = source.position(std::max(t.end, verbatim) - 1).line;
    if (t.type == ids::BLOCK_OPEN) {
      indents.push_back(0);
      starts = true;
    }
  }
  return 0;
}

/// Says why a program's formatted text is wrong; empty if nothing is.
std::string fault(const std::string& text) {
  const SourceFile source("given.pxl", text);
  if (!parse(source).tree) return {};
  std::string once;
  try {
    once = format_source(source);
  } catch (const Error& e) {
    return e.first().message;
  }
  const SourceFile formatted("formatted.pxl", once);
  const TokenList given = tokens_of(source), got = tokens_of(formatted);
  if (spelled(given) != spelled(got)) return "other tokens";
  if (places(given) != places(got)) return "comments in other places";
  if (format_source(formatted) != once) return "not idempotent";
  for (size_t end = once.find('\n'); end != once.npos; end = once.find('\n', end + 1))
    if (end > 0 && once[end - 1] == ' ' && text.find(" \n") == text.npos) return "a line ends with a space";
  if (const int line = shallow_line(got)) return "line " + std::to_string(line) + " is not indented";
  return {};
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  size_t every = 1, tried = 0, faults = 0;
  unsigned seed = 1;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--every" && i + 1 < argc)
      every = std::strtoul(argv[++i], nullptr, 10);
    else if (word == "--seed" && i + 1 < argc)
      seed = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    else
      for (const auto& entry : std::filesystem::recursive_directory_iterator(word))
        if (entry.path().extension() == ".pxl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::mt19937 random(seed);
  for (const auto& path : files) {
    const std::string text = read(path);
    const SourceFile source(path.string(), text);
    if (!parse(source).tree) continue;
    const TokenList list = tokens_of(source);
    for (size_t i = random() % every; i < list.tokens.size(); i += every) {
      const Token& t = list.tokens[i];
      std::string with = text;
      if (i % 2 == 1) with.insert(t.end, " # inserted 2\n");
      with.insert(t.begin, i % 4 < 2 ? " # inserted 1\n" : "\n\n# inserted 1\n");
      ++tried;
      const std::string wrong = fault(with);
      if (wrong.empty()) continue;
      const Position place = source.position(t.begin);
      if (++faults <= 20)
        std::printf("%s:%d:%d (text %zu): %s\n", path.c_str(), place.line, place.column, i, wrong.c_str());
    }
  }
  std::printf("%zu texts with comments, %zu faults\n", tried, faults);
  return faults > 0 || tried == 0 ? 1 : 0;
}
