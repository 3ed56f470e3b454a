// Walks over the lists of statements in a tree, and the comments that allow findings.
#pragma once

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "runtime/base/text/text.hpp"

namespace pxl {

/// Where a list of statements is. file: outside all bodies. body: directly in a body whose value a `return` gives.
/// attempt: in a `try`, where an expression may be there for its error.
enum class Home : uint8_t { file, body, attempt, other };

/// Visits the list of statements in each block and each body.
class StatementLists final : public StatementVisitor {
 public:
  explicit StatementLists(std::function<void(const std::vector<ast::Stmt*>&, Home)> visit) : visit_(std::move(visit)) {}

  void list(const std::vector<ast::Stmt*>& statements) {
    const Home home = home_;
    visit_(statements, home);
    for (const ast::Stmt* s : statements) {
      if (expects_error(*s)) continue;
      home_of_body_ = s->kind == ast::StmtKind::program ? Home::other : Home::body;
      home_ = s->kind == ast::StmtKind::try_ ? Home::attempt : home == Home::body ? Home::other : home;
      visit_parts(*s, *this);
    }
    home_ = home;
  }
  void block(const ast::Block& b) override { list(b.statements); }
  void function(const ast::Function& f) override {
    const Home outside = std::exchange(home_, home_of_body_);
    if (f.body) list(f.body->statements);
    home_ = outside;
  }
  void module(const ast::ModuleStmt& m) override {
    const Home outside = std::exchange(home_, Home::other);
    list(m.fields);
    home_of_body_ = Home::body;
    for (const ast::Function* f : m.methods) function(*f);
    if (m.build) function(*m.build);
    home_ = outside;
  }
  void test(const ast::TestStmt& t) override {
    const Home outside = std::exchange(home_, Home::other);
    list(t.body->statements);
    home_ = outside;
  }

 private:
  /// Code that is meant to fail.
  static bool expects_error(const ast::Stmt& s) {
    if (s.kind != ast::StmtKind::with) return false;
    const auto& items = as<ast::WithStmt>(s).items;
    return std::any_of(items.begin(), items.end(), [](const ast::WithItem& item) {
      return item.context->span.text().starts_with("expect_error(");
    });
  }

  std::function<void(const std::vector<ast::Stmt*>&, Home)> visit_;
  Home home_ = Home::file, home_of_body_ = Home::body;
};

/// Whether a list of statements returns somewhere. Bodies within it are others.
class Returns final : public StatementVisitor {
 public:
  bool in(const std::vector<ast::Stmt*>& statements) {
    for (const ast::Stmt* s : statements) {
      found_ = found_ || s->kind == ast::StmtKind::return_;
      if (!found_) visit_parts(*s, *this);
    }
    return found_;
  }
  void block(const ast::Block& b) override { in(b.statements); }

 private:
  bool found_ = false;
};

/// The comments `# allow: KIND, ...` of a file. One after code is of the innermost statement of its line, and one on a
/// line of its own is of the next statement.
class Allowances {
 public:
  explicit Allowances(const ast::Tree& tree) : source_(*tree.source) {
    for (int line = 1; line <= source_.line_count(); ++line) read(line);
    if (all_.empty()) return;
    StatementLists([this](const auto& list, Home) {
      for (const ast::Stmt* s : list) {
        const Lines lines{line_of(s->span.begin), line_of(s->span.end)};
        for (Allowance& a : all_) take(a, lines);
      }
    }).list(tree.body->statements);
  }
  bool permit(std::string_view kind, Span at) const {
    const int line = line_of(at.begin);
    return std::ranges::any_of(
        all_, [&](const Allowance& a) { return a.kinds.contains(kind) && a.of.first <= line && line <= a.of.last; });
  }

 private:
  struct Lines {
    int first = 0, last = 0;
  };
  struct Allowance {
    int line = 0;
    bool alone = false;  ///< on a line of its own
    std::set<std::string, std::less<>> kinds;
    Lines of;
  };

  int line_of(uint32_t place) const { return source_.position(place).line; }
  void read(int number) {
    const std::string_view line = source_.line(number);
    const size_t at = line.find("# allow: ");
    if (at == line.npos) return;
    Allowance a{number, trimmed(line.substr(0, at)).empty(), {}, {number, number}};
    for (std::string_view rest = line.substr(at + 9); !rest.empty();) {
      const size_t comma = rest.find(',');
      a.kinds.emplace(trimmed(rest.substr(0, comma)));
      rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    }
    all_.push_back(std::move(a));
  }
  /// Lists come with statements before those within them.
  static void take(Allowance& a, Lines s) {
    const bool none = a.of.first == a.line;
    if (a.alone ? s.first > a.line && (none || s.first < a.of.first) : s.first <= a.line && a.line <= s.last) a.of = s;
  }

  const SourceFile& source_;
  std::vector<Allowance> all_;
};

}  // namespace pxl
