#include "interpreter/language/named_tensors.hpp"

#include <fmt/format.h>

#include "interpreter/graphs/graph_values.hpp"

namespace pxl {

namespace {

// Whether a text contains a name as a whole word.
bool mentions(const std::string& text, const std::string& name) {
  auto inside = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !inside(text[at - 1])) && (end == text.size() || !inside(text[end]))) return true;
  }
  return false;
}

}  // namespace

void NamedTensors::note_object(const ast::Expr& written, const Value& value) {
  if (!as_tensor(value)) return;
  list_.emplace_back(&static_cast<const ast::NameExpr&>(written).name, value);
}

void NamedTensors::tell(Error& e) const {
  std::string facts, said = e.first().message;
  for (const std::string& note : e.first().notes) said += " " + note;
  for (const auto& [written, value] : list_) {
    const Tensor* t = as_tensor(value);
    const std::string& name = *written;
    const std::string shown = t->name.substr(t->name.rfind('/') == std::string::npos ? 0 : t->name.rfind('/') + 1);
    if (shown == name || !mentions(said, shown) || facts.find("`" + shown + "`") != std::string::npos) continue;
    facts += fmt::format("{}`{}` is {}", facts.empty() ? "" : ", ", shown, name);
  }
  if (!facts.empty()) e.first().notes.push_back(facts);
}

}  // namespace pxl
