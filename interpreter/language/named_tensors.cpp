#include "interpreter/language/named_tensors.hpp"

#include <algorithm>

#include "interpreter/graphs/tensor_objects.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {

namespace {

// Puts a name in place of another, wherever a text has it as a whole word.
void replace_word(std::string& text, const std::string& word, const std::string& by) {
  auto inside = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    const size_t end = at + word.size();
    const bool whole = (at == 0 || !inside(text[at - 1])) && (end == text.size() || !inside(text[end]));
    if (whole) text.replace(at, word.size(), by);
    at += whole ? by.size() : 1;
  }
}

}  // namespace

void NamedTensors::note_object(const ast::Expr& written, const Value& value) {
  if (!as_tensor(value)) return;
  list_.emplace_back(&static_cast<const ast::NameExpr&>(written).name, value);
}

void NamedTensors::note_array(const ast::Expr& written, std::string_view parameter) {
  constexpr size_t longest = 24;
  using enum ast::ExprKind;
  const bool simple = written.kind == name || written.kind == member || written.kind == index || written.kind == call;
  const std::string_view text = written.span.text();
  if (simple && text.size() <= longest && text.find('\n') == text.npos) arrays_.emplace_back(parameter, text);
}

void NamedTensors::tell(Error& e) const {
  for (const auto& [parameter, text] : arrays_) {
    replace_word(e.first().message, std::string(parameter), text);
    for (std::string& note : e.first().notes) replace_word(note, std::string(parameter), text);
  }
  for (const auto& [written, value] : list_) {
    const std::string shown = shown_name(*as_tensor(value));
    if (shown == *written) continue;
    // The message begins with the name of the op, which a tensor may have as well.
    Diagnostic& d = e.first();
    const size_t head = std::min(d.message.find(": ") + 1, d.message.size());
    std::string rest = d.message.substr(head);
    replace_word(rest, shown, *written);
    d.message = d.message.substr(0, head) + rest;
    for (std::string& note : d.notes) replace_word(note, shown, *written);
  }
}

}  // namespace pxl
