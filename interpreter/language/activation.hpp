// A running body: the names that it sees, and the names that it binds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/scope.hpp"

namespace pxl {

class Interpreter;

struct BuildState;  // what a module's build or a graph function collects; graphs/modules/modules.hpp

/// One running body.
struct Activation {
  Activation() = default;
  PXL_INLINE explicit Activation(ScopePtr s) : scope(std::move(s)) {}
  PXL_INLINE ~Activation() = default;
  Activation(const Activation&) = default;
  Activation& operator=(const Activation&) = default;

  ScopePtr scope;
  ScopePtr round = nullptr;  ///< the names of this round, in a loop that makes functions
  const ScopePtr& closure() const { return round ? round : scope; }  ///< the scope that a function made here sees
  Value self;                                                        ///< the instance in a module's methods and build
  std::shared_ptr<BuildState> build;                                 ///< where `param` declares; null outside a build
  enum class Kind : uint8_t { file, function, build, program, test } kind = Kind::function;
  Value result;   ///< set by return, or the error of a statement that failed
  Span returned;  ///< the return statement, in a function that declares results
};

/// Binds a name as a statement in the body does: in the body, outside it after `nonlocal`, and in the running round.
void bind_name(Interpreter& in, Activation& a, Name name, Value value);
/// Binds a name as bind_name does. Returns false if the name is nonlocal and not bound outside the body.
bool bind_in_body(Activation& a, Name name, Value value);
/// The scope in which `nonlocal name` binds, for a body whose scope is directly inside `from`: the nearest body or file
/// that binds the name. Null if there is none, or if the name belongs to a module's instance.
ScopePtr nonlocal_scope(const ScopePtr& from, Name name);

/// One round of a loop: if the loop makes functions, a scope for the names that the round owns.
class Round {
 public:
  Round(const ast::ForStmt& s, Activation& a) : a_(a), outside_(a.round) {
    if (!s.captures) return;
    ScopePtr own = make_ref<Scope>(a.closure(), s.round);
    own->round = &s.round;
    own->running = true;
    a.round = std::move(own);
  }
  ~Round() {
    if (a_.round != outside_) a_.round->running = false;
    a_.round = std::move(outside_);
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

 private:
  Activation& a_;
  ScopePtr outside_;
};

/// Saves a scope before it changes, unless it is the running body's. An undone input then restores it (undo.cpp).
void record_change(const ScopePtr& scope);
/// The kind of thing that has a name outside a body.
enum class OuterName : uint8_t { none, name, field, builtin };
OuterName outer_kind(const Interpreter& in, const Scope* from, Name name);
/// The error about a name that its body binds after reading it, or about `nonlocal` without such a name outside. It has
/// no location yet.
Error read_too_early(const std::string& name, OuterName outer);
Error no_outer_name(const std::string& name, bool is_field);

}  // namespace pxl
