#include "interpreter/language/written_operands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/tensor_objects.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {

namespace {

bool is_inside_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Puts a name in place of another, wherever a text has it as a whole word.
void replace_word(std::string& text, const std::string& word, std::string_view by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    const size_t end = at + word.size();
    const bool whole = (at == 0 || !is_inside_word(text[at - 1])) && (end == text.size() || !is_inside_word(text[end]));
    if (whole) text.replace(at, word.size(), by);
    at += whole ? by.size() : 1;
  }
}

void tell_tensor(Diagnostic& d, std::string_view written, const Tensor& tensor) {
  if (!std::all_of(written.begin(), written.end(), is_inside_word)) return;
  const std::string shown = shown_name(tensor);
  if (shown == written) return;
  // The message begins with the name of the op, which a tensor may have as well.
  const size_t head = std::min(d.message.find(": ") + 1, d.message.size());
  std::string rest = d.message.substr(head);
  replace_word(rest, shown, written);
  d.message = d.message.substr(0, head) + rest;
  for (std::string& note : d.notes) replace_word(note, shown, written);
}

void tell_misuse(Error& e, const Span& written, const Value& value) {
  Diagnostic& d = e.first();
  if (d.message.find(value.type_name()) == d.message.npos) return;
  for (std::string& note : notes_on_misuse(value))
    if (std::find(d.notes.begin(), d.notes.end(), note) == d.notes.end()) d.notes.push_back(std::move(note));
  const std::string member = meant_member(value);
  if (member.empty() || !d.fixes.empty()) return;
  d.span = written;
  e.offer({written.file, written.end, written.end}, "." + member, fmt::format("Add `.{}`", member));
}

}  // namespace

std::string meant_member(const Value& v) {
  if (!v.is_object() || v.object()->note_on_misuse().empty()) return {};
  const std::vector<std::string> names = v.object()->own_names();
  return names.size() == 1 ? names[0] : std::string();
}

bool WrittenOperands::is_explained(const Value& value) {
  return as_tensor(value) || !value.object()->note_on_misuse().empty();
}

/// Whether a text is a name, a member, an element or a call, and no operator joins parts of it.
static bool is_one_operand(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    const bool is_bracket = c == '(' || c == '[' || c == ')' || c == ']';
    if (depth == 0 && !is_bracket && !is_inside_word(c) && c != '.') return false;
  }
  return !text.empty() && is_inside_word(text[0]);
}

void WrittenOperands::note_array(const One& operand) {
  constexpr size_t longest = 24;
  const std::string_view text = operand.written.text();
  if (operand.parameter.empty() || !operand.value.is_object() || !operand.value.as_array()) return;
  if (text.size() <= longest && text.find('\n') == text.npos && is_one_operand(text))
    arrays_.emplace_back(operand.parameter, text);
}

void WrittenOperands::tell(Error& e) const {
  for (const auto& [parameter, text] : arrays_) {
    replace_word(e.first().message, std::string(parameter), text);
    for (std::string& note : e.first().notes) replace_word(note, std::string(parameter), text);
  }
  for (const auto& [written, value] : list_)
    if (const Tensor* tensor = as_tensor(value))
      tell_tensor(e.first(), written.text(), *tensor);
    else
      tell_misuse(e, written, value);
}

}  // namespace pxl
