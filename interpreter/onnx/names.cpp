// Turns a model's names into names for a program.
#include "interpreter/onnx/names.hpp"

#include <fmt/format.h>

#include <cctype>

#include "interpreter/onnx/import.hpp"
#include "interpreter/syntax/parse.hpp"

namespace pxl::onnx {

namespace {

// Tests for ASCII digits, whatever the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; }

}  // namespace

std::string snake(std::string_view op) {
  std::string out;
  for (size_t i = 0; i < op.size(); ++i) {
    const auto c = static_cast<unsigned char>(op[i]);
    const bool upper = std::isupper(c);
    const bool after_lower = i > 0 && !std::isupper(static_cast<unsigned char>(op[i - 1]));
    const bool before_lower = i + 1 < op.size() && std::islower(static_cast<unsigned char>(op[i + 1]));
    if (upper && i > 0 && (after_lower || before_lower)) out += '_';
    out += static_cast<char>(std::tolower(c));
  }
  return out;
}

UniqueNames::UniqueNames() {
  for (const auto& words : {reserved_words(), declaring_words()}) taken_.insert(words.begin(), words.end());
  for (const char* word :
       {"onnx", "weights", "array", "float", "beside", "ops", "Model", "tensor", "int", "bool", "str", "list", "_"})
    taken_.insert(word);
  for (const DTypeRow& r : dtype_table()) taken_.insert(std::string(r.name));
  // The functions that the rows call.
  for (const ImportRow& row : import_rows()) {
    std::string word;
    for (char c : row.text.view()) {
      if (is_word(c)) {
        word += c;
        continue;
      }
      if (c == '(' && !word.empty()) taken_.insert(word);
      word.clear();
    }
  }
}

ProgramText UniqueNames::fresh(std::string_view wanted) {
  std::string name;
  for (char c : wanted) {
    if (is_word(c))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (name.size() > 1 && name.back() == '_') name.pop_back();
  if (name.empty() || name == "_") name = "t";
  if (is_digit(name[0])) name = "t" + name;
  std::string unique = name;
  for (int n = 2; !taken_.insert(unique).second; ++n) unique = fmt::format("{}_{}", name, n);
  return identifier(unique);
}

}  // namespace pxl::onnx
