// Unknown values, and tests for values that are unknown or hold an unknown.
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/records.hpp"

#include <algorithm>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/look.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/limits/budget.hpp"

namespace pxl {
namespace {

// A value may be shown after the look: by hover or completion.
void need_run() {
  if (!permits(Effect::runs_session)) throw Unevaluated{};
}

bool holds_unknown_within(const Value& v, int depth, int& budget) {
  if (is_unknown(v)) return true;
  if (!v.is_object() || depth == 0) return false;
  if (auto* list = v.as<SequenceObject>()) {
    for (const Value& item : list->items) {
      if (--budget < 0) return false;
      if (holds_unknown_within(item, depth - 1, budget)) return true;
    }
  } else if (auto* record = v.as<RecordObject>()) {
    for (const Value& item : record->values) {
      if (--budget < 0) return false;
      if (holds_unknown_within(item, depth - 1, budget)) return true;
    }
  } else if (auto* dict = v.as<DictObject>()) {
    for (const auto& [key, item] : dict->items) {
      if (--budget < 0) return false;
      if (holds_unknown_within(item, depth - 1, budget)) return true;
    }
  }
  return false;
}

}  // namespace

std::string UnknownObject::type_name() const {
  need_run();
  return "unknown value";
}
std::string UnknownObject::repr(Interpreter&) {
  need_run();
  return "<unknown>";
}
std::optional<Value> UnknownObject::member(Interpreter&, std::string_view name) {
  if (spec && name == "shape") return make_tuple(std::vector<Value>(spec->shape.begin(), spec->shape.end()));
  if (spec && name == "dtype") return Value(spec->dtype);
  return unknown_value();
}
std::vector<std::string> UnknownObject::member_names() const {
  return spec ? std::vector<std::string>{"shape", "dtype"} : std::vector<std::string>{};
}
Value UnknownObject::call(Interpreter& in, Arguments args) {
  for (const Value& v : args.positional) {
    if (can_change(v)) v.object()->forget();
    forget_changed_by(v);
  }
  if (check_in_progress(in)) lacks_part_of(in, args);
  return unknown_value();
}
Value UnknownObject::index(Interpreter& in, const Value& key) {
  if (!spec || holds_unknown(key)) return unknown_value();
  try {
    const Value stand_in(Array::unevaluated(spec->dtype, spec->shape));
    const Value made = stand_in.object()->index(in, key);
    if (const Array* array = made.as_array()) return unknown_array(array->spec());
  } catch (const Unevaluated&) {
  } catch (const Error& e) {
    if (depends_on_specs(e)) throw;
  }
  return unknown_value();
}
std::optional<int64_t> UnknownObject::length(Interpreter&) {
  if (spec && !spec->shape.empty()) return spec->shape[0];
  need_run();
  return std::nullopt;
}
std::optional<Iterator> UnknownObject::iterate(Interpreter&) {
  if (!spec || spec->shape.empty()) {
    need_run();
    return std::nullopt;
  }
  TensorSpec row = *spec;
  row.shape.erase(row.shape.begin());
  return Iterator([row, left = spec->shape[0]]() mutable -> std::optional<Value> {
    if (left == 0) return std::nullopt;
    --left;
    return unknown_array(row);
  });
}
bool UnknownObject::contains(Interpreter&, const Value&) {
  need_run();
  return false;
}
bool UnknownObject::truth(Interpreter&) {
  need_run();
  return false;
}
bool UnknownObject::equals(Interpreter&, const Value&) {
  need_run();
  return false;
}
std::optional<std::string> UnknownObject::hash_key() const {
  need_run();
  return std::nullopt;
}
Value UnknownObject::enter(Interpreter&) { return unknown_value(); }

Value unknown_value() { return make_ref<UnknownObject>(); }
Value unknown_array(TensorSpec spec) { return make_ref<UnknownObject>(std::move(spec)); }
Value unknown_array(Shape shape, DType dtype) {
  TensorSpec spec;
  spec.shape = std::move(shape);
  spec.dtype = dtype;
  return unknown_array(std::move(spec));
}

bool holds_unknown(const Value& v) {
  constexpr int most = 10000;
  int budget = most;
  const bool holds = holds_unknown_within(v, 4, budget);
  charge_steps(most - budget, 4);
  return holds;
}

bool holds_unknown(const Arguments& args) {
  return std::any_of(args.positional.begin(), args.positional.end(), [](const Value& v) { return holds_unknown(v); }) ||
         std::any_of(args.named.begin(), args.named.end(), [](const NamedArg& n) { return holds_unknown(n.value); });
}

std::optional<TensorSpec> unknown_spec(const Value& v) {
  if (auto* u = v.as<UnknownObject>()) return u->spec;
  if (const Array* a = v.as_array(); a && v.object()->forgotten()) return a->spec();
  return std::nullopt;
}

bool depends_on_specs(const Error& e) { return e.first().code == codes::shape || e.first().code == codes::dtype; }

Value as_known(Value v) {
  if (!v.is_object() || !v.object()->forgotten()) return v;
  if (const Array* a = v.as_array()) return unknown_array(a->spec());
  return unknown_value();
}

}  // namespace pxl
