#include "interpreter/tools/module_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/syntax/signature_text.hpp"
#include "interpreter/syntax/statement_parts.hpp"

namespace pxl {

namespace {

std::string spec_text(const ast::Expr* spec) { return spec ? one_line(spec->span.text()) : std::string(); }

/// Finds the params and the used modules of one module.
class ModuleParts final : public ExpressionVisitor {
 public:
  ModuleParts(ModulePicture& picture, size_t user, std::map<std::string, size_t>& known,
              const std::set<std::string>& imported)
      : picture_(picture), user_(user), known_(known), imported_(imported) {}

  void statement(const ast::Stmt& s) {
    if (s.kind == ast::StmtKind::param) {
      const auto& param = as<ast::ParamStmt>(s);
      picture_.boxes[user_].members.emplace_back(param.name, spec_text(param.spec));
    }
    member_.clear();
    if (s.kind == ast::StmtKind::assign && as<ast::AssignStmt>(s).targets.size() == 1)
      member_ = std::string(as<ast::AssignStmt>(s).targets.front()->span.text());
    visit_parts(s, *this);
  }

  void block(const ast::Block& b) override {
    for (const ast::Stmt* s : b.statements) statement(*s);
  }
  void read(const ast::Expr& e) override {
    if (e.kind == ast::ExprKind::call) use(std::string(as<ast::CallExpr>(e).callee->span.text()));
    std::vector<const ast::Expr*> inner;
    children(e, inner);
    for (const ast::Expr* part : inner)
      if (part) read(*part);
  }

 private:
  void use(const std::string& called) {
    auto found = known_.find(called);
    if (found == known_.end()) {
      const size_t dot = called.rfind('.'), own = dot == called.npos ? 0 : dot + 1;
      const bool module = own < called.size() && called[own] >= 'A' && called[own] <= 'Z';
      if (!module || !imported_.contains(called.substr(0, called.find('.')))) return;
      found = known_.emplace(called, picture_.boxes.size()).first;
      picture_.boxes.push_back({called, {}, {}});
    }
    const ModuleUse fresh{user_, found->second, member_};
    const auto equal = [&](const ModuleUse& u) {
      return u.user == fresh.user && u.used == fresh.used && u.member == fresh.member;
    };
    if (std::none_of(picture_.uses.begin(), picture_.uses.end(), equal)) picture_.uses.push_back(fresh);
  }

  ModulePicture& picture_;
  size_t user_;
  std::map<std::string, size_t>& known_;
  const std::set<std::string>& imported_;
  std::string member_;
};

/// The names that a text imports.
class Imports final : public ExpressionVisitor {
 public:
  std::set<std::string> names;
  void name(const std::string& bound, const Span&) override { names.insert(bound); }
};

}  // namespace

ModulePicture modules_of(const ast::Tree& tree) {
  ModulePicture picture;
  std::map<std::string, size_t> known;
  std::vector<const ast::ModuleStmt*> modules;
  Imports imports;
  for (const ast::Stmt* s : tree.body->statements) {
    if (s->kind == ast::StmtKind::import || s->kind == ast::StmtKind::from_import) visit_parts(*s, imports);
    if (s->kind != ast::StmtKind::module) continue;
    const auto* module = &as<ast::ModuleStmt>(*s);
    known.insert_or_assign(module->name, picture.boxes.size());
    modules.push_back(module);
    const std::string parameters = module->parameters.empty() ? std::string() : parameters_text(module->parameters);
    picture.boxes.push_back({module->name + parameters, {}, module->name_span});
  }
  for (size_t i = 0; i < modules.size(); ++i) {
    ModuleParts parts(picture, i, known, imports.names);
    for (const ast::Stmt* s : modules[i]->fields) parts.statement(*s);
    std::vector<const ast::Function*> functions(modules[i]->methods.begin(), modules[i]->methods.end());
    if (modules[i]->build) functions.push_back(modules[i]->build);
    for (const ast::Function* f : functions)
      if (f->body) parts.block(*f->body);
    if (const ast::Function* build = modules[i]->build)
      picture.boxes[i].members.emplace_back("build", parameters_text(build->parameters) + results_text(*build));
  }
  return picture;
}

DrawnGraph view_of(const ModulePicture& picture, const std::string& title) {
  DrawnGraph view;
  view.title = title;
  for (const ModuleBox& box : picture.boxes) {
    ViewNode node;
    node.id = fmt::format("m{}", view.nodes.size());
    node.labels = {box.title};
    node.kind = ViewNode::module;
    for (const auto& [name, spec] : box.members)
      node.labels.push_back(name == "build" ? name + spec : fmt::format("{}: {}", name, spec));
    view.nodes.push_back(std::move(node));
  }
  for (const ModuleUse& use : picture.uses)
    view.edges.push_back({static_cast<int>(use.user), static_cast<int>(use.used), use.member, 1});
  return view;
}

}  // namespace pxl
