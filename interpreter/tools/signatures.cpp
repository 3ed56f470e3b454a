// Finds the signatures of callable values.
#include <algorithm>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/signature_text.hpp"
#include "interpreter/tools/inspection.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/records.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {
namespace {

SignatureInfo of_parameters(std::string name, const std::vector<ast::Parameter>& parameters, std::string doc) {
  SignatureInfo s{std::move(name), {}, {}, std::move(doc)};
  for (const ast::Parameter& p : parameters)
    s.parameters.push_back({p.name, one_line(p.span.text()), p.collects(), p.by_name});
  return s;
}

SignatureInfo of_function(std::string name, const ast::Function& f) {
  SignatureInfo s = of_parameters(std::move(name), f.parameters, f.doc);
  s.results = results_text(f);
  return s;
}

/// Parses the signature in a built-in's declaration: "range(start, stop = none, step = 1)".
SignatureInfo of_text(std::string_view text, std::string doc) {
  const size_t open = text.find('(');
  SignatureInfo s{std::string(text.substr(0, open)), {}, {}, std::move(doc)};
  if (open == text.npos) return s;
  int depth = 0;
  std::string part;
  auto take = [&] {
    const size_t from = part.find_first_not_of(' ');
    if (from == part.npos) return;
    part = part.substr(from, part.find_last_not_of(' ') - from + 1);
    size_t at = part.find_first_not_of('*');
    const bool rest = at > 0 || part.starts_with("...");
    const size_t end = part.find_first_of(" :=", at == part.npos ? 0 : at);
    std::string name = at == part.npos ? "" : part.substr(at, end == part.npos ? part.npos : end - at);
    s.parameters.push_back({rest ? "" : std::move(name), part, rest, false});
  };
  for (char c : text.substr(open + 1)) {
    if (c == ')' && depth == 0) break;
    if (c == ',' && depth == 0) {
      take();
      part.clear();
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    part += c;
  }
  take();
  return s;
}

SignatureInfo of_graph(const Graph& graph, std::string name) {
  SignatureInfo s{std::move(name), {}, {}, {}};
  for (const Tensor* t : graph.inputs()) {
    const std::string& key = t->key.empty() ? t->name : t->key;
    // A dotted name is bound already and not passed.
    if (key.find('.') == key.npos) s.parameters.push_back({key, key + ": " + text(t->spec), false, false});
  }
  return s;
}

}  // namespace

std::string SignatureInfo::text() const {
  std::string out = name + "(";
  bool starred = false;
  for (const ParameterInfo& p : parameters) {
    if (out.back() != '(') out += ", ";
    if (p.by_name && !starred) out += "*, ";
    starred = starred || p.rest || p.by_name;
    out += p.text;
  }
  return out + ")" + results;
}

std::optional<SignatureInfo> signature_of(Interpreter&, const Value& callee) {
  if (auto* f = callee.as<FunctionObject>()) return of_function(f->qualified_name, *f->code);
  if (auto* f = callee.as<MethodObject>()) return of_function(f->code->name, *f->code);
  if (auto* f = callee.as<OutlinedFunctionObject>()) return of_function(f->code->name, *f->code);
  if (auto* m = callee.as<ModuleObject>()) return of_parameters(m->code->name, m->code->parameters, m->code->doc);
  if (auto* r = callee.as<RecordType>()) return of_parameters(r->code->name, r->code->fields, r->code->doc);
  if (auto* m = callee.as<ModuleInstance>()) {
    if (!m->code->build) return std::nullopt;
    SignatureInfo s = of_function(m->code->name + ".build", *m->code->build);
    s.doc = m->code->doc;
    return s;
  }
  if (auto* p = callee.as<ProgramObject>())
    return of_parameters(p->code->function->name, p->code->function->parameters, p->code->function->doc);
  if (auto* g = callee.as<GraphObject>()) return of_graph(*g->graph, g->graph->id());
  if (auto* g = callee.as<BoundGraphObject>()) return of_graph(*g->graph->graph, g->graph->graph->id());
  if (auto* b = callee.as<BuiltinObject>()) {
    if (b->row) return of_text(b->name + std::string(b->row->parameters), std::string(b->row->doc));
    if (b->signature.empty()) return std::nullopt;
    return of_text(b->signature, b->doc);
  }
  return std::nullopt;
}

}  // namespace pxl
