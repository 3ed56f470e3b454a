// Programs, and the Irs that they build, as values.
#pragma once

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/cycles.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

struct Family;
struct IrObject;

/// `program NAME(params) { ... }`. A call builds an Ir.
struct ProgramObject final : Object {
  ast::Held<ast::ProgramStmt> code;
  ScopePtr closure;
  std::string type_name() const override { return "program"; }
  std::string repr(Interpreter&) override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  /// Runs the body as a program of its own. Sizes that are not given have their defaults.
  Ref<IrObject> build(Interpreter& in, Arguments args);
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override { return {"name", "doc"}; }
  void references(References& to) const override { to.add(closure); }
};

/// An Ir, with the names that its program's body bound as fields.
struct IrObject final : Object {
  std::shared_ptr<Ir> ir;
  ScopePtr fields;                       ///< may be null
  std::shared_ptr<const Family> family;  ///< of which it is the exemplar; null: its sizes were given
  std::string type_name() const override { return "ir"; }
  std::string repr(Interpreter&) override;  ///< Ir[train]
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  std::vector<std::string> own_names() const override;
  void set_member(Interpreter& in, std::string_view name, Value value) override;
  bool equals(Interpreter&, const Value& other) override;
  std::optional<std::string> hash_key() const override;
  void references(References& to) const override;
};

/// The names of an Ir's members, which no program may bind.
const std::vector<std::string>& ir_member_names();
Value ir_value(Interpreter& in, const std::shared_ptr<Ir>& ir);
/// The Ir of a value: an IrObject, or `ir` itself. Throws an error that names `where` for other values.
IrObject* to_ir(Interpreter& in, const Value& v, const char* where, Value& holder);
/// Binds `ir`, the Ir that is being built, and `main`, the Ir of the top level, for every file.
void bind_ir_builtin(Scope& prelude);

}  // namespace pxl
