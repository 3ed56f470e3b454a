// Finds the signatures of callable values.
#include <fmt/format.h>

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

SignatureInfo of_declared(const Signature& declared, std::string doc) {
  SignatureInfo s{std::string(declared.name), {}, {}, std::move(doc)};
  each_parameter(declared.parameters, [&](std::string_view name, std::string_view fallback) {
    const bool rest = collects(name);
    s.parameters.push_back({rest ? "" : std::string(name),
                            fallback.empty() ? std::string(name) : fmt::format("{} = {}", name, fallback), rest,
                            false});
  });
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
  if (auto* f = callee.as<FunctionObject>()) return of_function(f->code->name, *f->code);
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
    const Signature* declared = b->declared();
    if (!declared) return std::nullopt;
    return of_declared(*declared, b->row ? std::string(b->row->doc) : b->texts.doc);
  }
  return std::nullopt;
}

}  // namespace pxl
