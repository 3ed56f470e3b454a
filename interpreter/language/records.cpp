#include "interpreter/language/records.hpp"

#include <fmt/format.h>

#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/node_as.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl {

void declare_record(Interpreter& in, const ast::RecordStmt& s, Activation& a) {
  auto type = make_ref<RecordType>();
  type->code = ast::held(s);
  type->closure = a.closure();
  type->plain = take_values(s.fields);
  bind_name(in, a, s.name, type);
}

bool RecordType::admits(const Value* values, size_t count) const { return have_kinds(code->fields, values, count); }

Value RecordType::call_by_position(Interpreter& in, const Value* values, size_t count) {
  if (!takes_by_position(count) || in.checking || !admits(values, count))
    return Object::call_by_position(in, values, count);
  return make_ref<RecordObject>(static_ref_cast<RecordType>(shared_from_this()),
                                std::vector<Value>(values, values + count));
}

Value RecordType::call(Interpreter& in, Arguments args) { return make(in, code->name, std::move(args)); }

Value RecordType::make(Interpreter& in, const std::string& what, Arguments args) const {
  const ScopePtr scope = make_ref<Scope>(closure);
  bind_parameters(in, what, code->fields, std::move(args), scope, closure);
  std::vector<Value> values;
  for (const ast::Parameter& p : code->fields) values.push_back(*scope->find_here(p.interned));
  const auto self = static_ref_cast<RecordType>(const_cast<RecordType*>(this)->shared_from_this());
  return make_ref<RecordObject>(self, std::move(values));
}

namespace {

class FromDict {
 public:
  FromDict(Interpreter& in, const RecordType& type) : in_(in), type_(type) { a_.scope = type.closure; }

  Value make(const Value& fields) {
    auto* dict = fields.as<DictObject>();
    if (!dict)
      throw Error(fmt::format("{} is made from a dict of its fields, not from {}", type_.code->name,
                              with_article(fields.type_name())))
          .as(codes::type);
    const DepthGuard guard(in_);
    Arguments args;
    for (const auto& [key, value] : dict->items) {
      const std::string* name = key.as_string();
      if (!name) throw Error(type_.code->name + ": names of fields are strs").as(codes::type);
      Value v = value;
      for (const ast::Parameter& p : type_.code->fields)
        if (p.name == *name && p.annotation) v = converted(*p.annotation, value);
      args.named.push_back({*name, std::move(v), {}});
    }
    return type_.make(in_, type_.code->name, std::move(args));
  }

 private:
  const RecordType* record_of(const ast::Expr& type) const {
    if (type.kind != ast::ExprKind::name) return nullptr;
    const Value* found = a_.scope->find(as<ast::NameExpr>(type).interned);
    return found ? found->as<RecordType>() : nullptr;
  }

  Value converted(const ast::Expr& type, const Value& v) {
    if (v.as<DictObject>()) return converted_dict(type, v);
    if (v.as<ListObject>()) return converted_list(type, v);
    return v;
  }

  Value converted_dict(const ast::Expr& type, const Value& v) {
    for (const ast::Expr* one : alternatives_of(type)) {
      if (const RecordType* record = record_of(*one)) return FromDict(in_, *record).make(v);
      if (base_of(*one) != "dict") continue;
      auto made = make_ref<DictObject>();
      for (const auto& [key, value] : v.as<DictObject>()->items)
        made->put(key, converted(*as<ast::IndexExpr>(*one).subscripts.back(), value));
      return made;
    }
    return v;
  }

  Value converted_list(const ast::Expr& type, const Value& v) {
    for (const ast::Expr* one : alternatives_of(type)) {
      const std::string base = base_of(*one);
      if (base == "list" || base == "tuple") {
        std::vector<Value> items = v.as<ListObject>()->items;
        const auto& types = as<ast::IndexExpr>(*one).subscripts;
        for (size_t i = 0; i < items.size() && !types.empty(); ++i)
          items[i] = converted(*types[std::min(i, types.size() - 1)], items[i]);
        return base == "list" ? make_list(std::move(items)) : make_tuple(std::move(items));
      }
      if (is_name(*one, "list")) return v;
      if (is_name(*one, "tuple")) return make_tuple(v.as<ListObject>()->items);
      if (is_name(*one, "array") || base == "array" || base == "tensor") return Value(to_array(in_, v));
      if (base.empty()) continue;
      if (const Value* dtype = a_.scope->find(base); dtype && dtype->as_dtype())
        return Value(to_array(in_, v, *dtype->as_dtype(), type_.code->name));
    }
    return v;
  }

  static bool is_name(const ast::Expr& type, std::string_view name) {
    return type.kind == ast::ExprKind::name && as<ast::NameExpr>(type).name == name;
  }
  /// The base type: "float32" for `float32[n]`, empty for other annotations.
  static std::string base_of(const ast::Expr& type) {
    if (type.kind != ast::ExprKind::index) return {};
    const ast::Expr& base = *as<ast::IndexExpr>(type).base;
    return base.kind == ast::ExprKind::name ? as<ast::NameExpr>(base).name : std::string();
  }

  Interpreter& in_;
  const RecordType& type_;
  Activation a_;
};

}  // namespace

Value record_from(Interpreter& in, const RecordType& type, const Value& fields) {
  return FromDict(in, type).make(fields);
}

}  // namespace pxl
