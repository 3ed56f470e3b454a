// Remembers where fields of instances and records were found. Instances of one module store them at the same places.
#pragma once

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/values/records.hpp"

namespace pxl {

class FieldCache {
 public:
  /// A field of an instance or of a record; null for other values and members.
  PXL_INLINE const Value* find(const Value& base, Name name) const {
    auto* m = base.as<ModuleInstance>();
    if (!m) return field_of_record(base, name);
    const Value* v = place(*m, name);
    return v && !own_method(*v) ? v : nullptr;
  }
  /// A method of an instance; null for other members.
  const MethodObject* method(const ModuleInstance& m, Name name) const {
    const Value* v = place(m, name);
    return v ? own_method(*v) : nullptr;
  }
  /// Sets a field that the instance already has. It takes the value only if it returns true.
  bool set(Interpreter& in, const Value& base, Name name, Value& value) const {
    Value* v = changing(base, name);
    if (!v) return false;
    // The field's value may hold the instance itself through other values.
    if (value.is_object() && !value.as_string()) evaluator_of(in).remember(base.as<ModuleInstance>()->scope);
    std::swap(*v, value);
    return true;
  }
  /// A field that the instance already has, and that is about to change; null if there is none.
  Value* changing(const Value& base, Name name) const {
    auto* m = base.as<ModuleInstance>();
    Value* v = m ? place(*m, name) : nullptr;
    if (!v || own_method(*v)) return nullptr;
    m->changing();
    return v;
  }

 private:
  __attribute__((noinline)) const Value* field_of_record(const Value& base, Name name) const {
    auto* r = base.as<RecordObject>();
    if (!r) return nullptr;
    const std::vector<ast::Parameter>& fields = r->type->code->fields;
    if (index_ < fields.size() && fields[index_].interned == name) [[likely]]
      return &r->values[index_];
    for (size_t i = 0; i < fields.size(); ++i)
      if (fields[i].interned == name) return &r->values[index_ = i];
    return nullptr;
  }
  Value* place(const ModuleInstance& m, Name name) const {
    auto& fields = m.scope->added();
    const auto last = fields.begin() + static_cast<std::ptrdiff_t>(index_);
    if (last < fields.end() && last->name == name) [[likely]]
      return &last->value;
    for (size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name == name) return &fields[index_ = i].value;
    return nullptr;
  }
  mutable size_t index_ = 0;
};

}  // namespace pxl
