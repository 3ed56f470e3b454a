#include "interpreter/syntax/signature_text.hpp"

namespace pxl {

std::string one_line(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\n' || c == '\r') c = ' ';
    if (c == ' ' && !out.empty() && out.back() == ' ') continue;
    out += c;
  }
  return out;
}

std::string parameters_text(const std::vector<ast::Parameter>& parameters) {
  std::string out = "(";
  bool starred = false;
  for (const ast::Parameter& p : parameters) {
    if (out.size() > 1) out += ", ";
    if (p.by_name && !starred) out += "*, ";
    starred = starred || p.rest || p.by_name;
    out += one_line(p.span.text());
  }
  return out + ")";
}

std::string results_text(const ast::Function& f) {
  std::string out;
  for (const ast::Expr* r : f.results) out += (out.empty() ? " -> " : ", ") + one_line(r->span.text());
  return out;
}

}  // namespace pxl
