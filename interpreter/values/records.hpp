// Records: immutable values with named fields, equal by value. `record NAME(fields)` declares a type; calls of the type
// make records.
#pragma once

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/cycles.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

struct RecordType final : Object {
  ast::Held<ast::RecordStmt> code;
  ScopePtr closure;
  bool plain = false;  ///< the kinds of values are all that the fields ask for
  std::string type_name() const override { return "record"; }
  std::string repr(Interpreter&) override { return "<record " + code->name + ">"; }
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  Value call_by_position(Interpreter& in, const Value* values, size_t count) override;
  bool takes_by_position(size_t count) const override { return plain && count == code->fields.size(); }
  bool admits(const Value* values, size_t count) const override;
  /// Makes a record as a call does. `what` names the callee in messages.
  Value make(Interpreter& in, const std::string& what, Arguments args) const;
  std::optional<Value> member(Interpreter&, std::string_view name) override;
  std::vector<std::string> member_names() const override { return {"name", "doc"}; }
  void references(References& to) const override { to.add(closure); }
};

struct RecordObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::record;
  Ref<RecordType> type;
  std::vector<Value> values;  ///< in the order of the type's fields
  RecordObject(Ref<RecordType> t, std::vector<Value> v) : type(std::move(t)), values(std::move(v)) {}
  ~RecordObject() override;
  const std::string& field(size_t i) const { return type->code->fields[i].name; }
  std::string type_name() const override { return type->code->name; }
  std::string repr(Interpreter& in) override;
  bool equals(Interpreter& in, const Value& other) override;
  Method method_of_class(std::string_view name) const override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  std::vector<std::string> own_names() const override;
  Value index(Interpreter& in, const Value& key) override;
  void set_member(Interpreter& in, std::string_view name, Value value) override;
  void references(References& to) const override;
};

}  // namespace pxl
