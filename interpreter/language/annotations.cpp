// Annotations of parameters and results: types `n: int`, unions `float | none`, containers `list[int]`, and shape
// patterns `x: tensor[..., d]`. A pattern checks a shape and binds names to its free dimensions. Known names are the
// instance's configuration and earlier arguments only.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/located.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/fixes/foreign_dtypes.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/records.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

namespace {

/// A built-in type, and the kinds of values that certainly have it.
struct NamedType {
  std::string_view name;
  uint32_t kinds;
};
constexpr NamedType named_types[] = {
    {"int", Value::int_kinds},
    {"float", Value::float_kind},
    {"bool", Value::bool_kind},
    {"str", Value::kind_bit(ClassTag::text)},
    {"list", Value::kind_bit(ClassTag::list)},
    {"tuple", Value::kind_bit(ClassTag::tuple)},
    {"dict", Value::kind_bit(ClassTag::dict)},
    {"array", Value::kind_bit(ClassTag::array)},
    {"tensor", 0},
    {"spec", 0},
    {"dtype", 0},
    {"range", Value::kind_bit(ClassTag::range)},
    {"stream", 0},
    {"any", Value::any_kind},
    {"module", Value::kind_bit(ClassTag::instance)},
    {"function", Value::kind_bit(ClassTag::function) | Value::kind_bit(ClassTag::method)},
    {"tree", 0},
    {"gradients", 0},
};

/// The reason why a value does not match.
struct Mismatch {
  std::string expected, got;
  std::vector<std::string> notes;
};

std::string described(Interpreter& in, const Value& v) {
  if (const Tensor* t = as_tensor(v)) return text(t->spec);
  if (const Array* x = v.as_array()) return "an array " + text(x->spec());
  if (const TensorSpec* s = v.as_spec()) return "the spec " + text(*s);
  if (v.is_number()) return with_article(v.type_name()) + ", " + repr_of(in, v);
  if (v.is_none()) return "none";
  if (const auto* m = v.as<ModuleObject>()) return "the module " + m->code->name + " itself";
  return with_article(v.type_name());
}

// The spec against which a pattern is matched: that of a tensor or an array, or the value itself.
const TensorSpec* spec_of(const Value& v) {
  if (const Tensor* t = as_tensor(v)) return &t->spec;
  if (const Array* x = v.as_array()) return &x->spec();
  return v.as_spec();
}

// The value of a name that a pattern may read: an earlier argument, or a part of the instance's configuration.
const Value* known(const std::string& name, Activation& a) {
  if (const Value* v = a.scope->find_here(name)) return v;
  if (auto* self = a.self.as<ModuleInstance>())
    if (self->scope && self->scope != a.scope && self->is_configured(name)) return self->scope->find_here(name);
  return nullptr;
}

const NamedType* find_named_type(const std::string& name) {
  const auto* found = std::ranges::find(named_types, name, &NamedType::name);
  return found == std::end(named_types) ? nullptr : found;
}

// Whether a value has a named type. Converts `v` if the type requires it.
bool of_named_type(const std::string& type, Value& v) {
  if (type == "any") return true;
  if (type == "int") return v.is_int();
  if (type == "float") {
    if (v.is_int()) v = v.as_double();
    return v.is_float();
  }
  if (type == "bool") return v.is_bool();
  if (type == "str") return v.as_string() != nullptr;
  if (type == "tensor") return as_tensor(v) || v.as_spec() || v.as_array();
  if (type == "function") return can_be_called(v);
  if (type == "tree") return v.as<TreeObject>() != nullptr;
  if (type == "module") return v.as<ModuleInstance>() != nullptr;
  return v.type_name() == type;
}

[[noreturn]] void refuse_type(Interpreter& in, const ast::Expr& e, std::string message, std::vector<std::string> notes,
                              std::string_view code = codes::annotation) {
  Error error(std::move(message), std::move(notes));
  error.as(code);
  error.locate(e.span, position_of(in).frames);
  throw error;
}

/// Matches values with annotations. Names in patterns are bound in the activation's scope.
class Matcher {
 public:
  Matcher(Interpreter& in, Activation& a) : in_(in), a_(a) {}

  /// Returns the value, converted if the type requires it. If it does not match, returns nullopt, and `mismatch` has
  /// the reason.
  std::optional<Value> match(const ast::Expr& e, Value v) {
    if (in_.checking && holds_unknown(v)) return v;
    if (e.kind == ast::ExprKind::none) return v.is_none() ? std::optional(v) : differs(v, "none");
    if (e.kind == ast::ExprKind::name && find_named_type(static_cast<const ast::NameExpr&>(e).name)) {
      Value converted = v;
      const std::string& type = static_cast<const ast::NameExpr&>(e).name;
      return of_named_type(type, converted) ? std::optional(converted) : differs(v, with_article(type));
    }
    if (const auto alternatives = alternatives_of(e); alternatives.size() > 1) return match_union(e, alternatives, v);
    if (e.kind == ast::ExprKind::index) return match_index(static_cast<const ast::IndexExpr&>(e), v);
    return match_type(e, v);
  }

  Mismatch mismatch;

 private:
  std::nullopt_t differs(const Value& v, std::string expected, std::vector<std::string> notes = {}) {
    mismatch = {std::move(expected), described(in_, v), std::move(notes)};
    return std::nullopt;
  }

  std::optional<Value> match_union(const ast::Expr& e, const std::vector<const ast::Expr*>& alternatives,
                                   const Value& v) {
    std::vector<std::string> notes;
    for (const ast::Expr* one : alternatives) {
      const size_t before = bound_.size();
      std::optional<Value> found = match(*one, v);
      if (bound_.size() > before) forget(before, found ? extents_of_pattern(e) : std::vector<const ast::NameExpr*>());
      if (found) return found;
      if (notes.empty()) notes = std::move(mismatch.notes);
    }
    return differs(v, std::string(e.span.text()), std::move(notes));
  }

  /// Unbinds the names bound since `before`, except those in `kept`.
  void forget(size_t before, const std::vector<const ast::NameExpr*>& kept) {
    for (size_t i = before; i < bound_.size();) {
      const auto is_it = [&](const ast::NameExpr* n) { return n->interned == bound_[i]; };
      if (std::any_of(kept.begin(), kept.end(), is_it)) {
        ++i;
        continue;
      }
      a_.scope->erase(bound_[i]);
      bound_.erase(bound_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  std::optional<Value> match_index(const ast::IndexExpr& e, const Value& v) {
    const std::string base =
        e.base->kind == ast::ExprKind::name ? static_cast<const ast::NameExpr&>(*e.base).name : std::string();
    if (base == "list" || base == "tuple" || base == "dict") return match_container(base, e, v);
    std::optional<DType> dtype;
    if (base != "tensor" && base != "array") {
      if (!base.empty() && !a_.scope->find(base)) refuse_unknown(*e.base, base);
      dtype = to_dtype(evaluate(in_, *e.base, a_), "type annotation");
    }
    const TensorSpec* spec = spec_of(v);
    const std::string expected(e.span.text());
    if (base == "array" && !v.as_array()) return differs(v, expected);
    // A number matches a pattern without dimensions.
    if (!spec && v.is_number() && e.subscripts.empty()) return v;
    if (!spec || (dtype && spec->dtype != *dtype)) return differs(v, expected);
    return match_shape(e, v, spec->shape) ? std::optional(v) : std::nullopt;
  }

  /// `list[T]`, `tuple[A, B]`, `dict[K, V]`. If items were converted, the container is a new one.
  std::optional<Value> match_container(const std::string& base, const ast::IndexExpr& e, const Value& v) {
    const auto& types = e.subscripts;
    if (types.size() != 1 && base != "tuple" && !(base == "dict" && types.size() == 2))
      refuse_type(in_, e, fmt::format("`{}` is no type", e.span.text()),
                  {"write `list[T]`, `tuple[A, B]`, `dict[K, V]`"});
    const std::string expected(e.span.text());
    if (v.type_name() != base) return differs(v, expected);
    bool changed = false;
    const auto item = [&](const ast::Expr& type, const Value& one, const std::string& where) -> std::optional<Value> {
      std::optional<Value> found = match(type, one);
      if (!found) {
        mismatch = {expected, fmt::format("{} with {} {}", with_article(base), mismatch.got, where), mismatch.notes};
        return found;
      }
      changed = changed || (one.is_object() ? !found->is_object() || found->object() != one.object()
                                            : found->type_name() != one.type_name());
      return found;
    };
    if (auto* dict = v.as<DictObject>()) {
      auto made = make_ref<DictObject>();
      for (const auto& [key, value] : dict->items) {
        const std::string where = "at " + repr_of(in_, key);
        std::optional<Value> k = types.size() == 2 ? item(*types[0], key, "as a key") : key;
        std::optional<Value> x = k ? item(*types.back(), value, where) : k;
        if (!x) return x;
        made->put(*k, *x);
      }
      return changed ? Value(made) : v;
    }
    std::vector<Value> items = elements_of(in_, v);
    if (base == "tuple" && items.size() != types.size())
      return differs(v, expected, {fmt::format("that is a tuple of {}, not of {}", types.size(), items.size())});
    for (size_t i = 0; i < items.size(); ++i) {
      std::optional<Value> found = item(*types[base == "tuple" ? i : 0], items[i], fmt::format("at {}", i));
      if (!found) return found;
      items[i] = *std::move(found);
    }
    if (!changed) return v;
    return base == "tuple" ? make_tuple(std::move(items)) : make_list(std::move(items));
  }

  bool match_shape(const ast::IndexExpr& pattern, const Value& v, const Shape& shape) {
    const std::string expected(pattern.span.text());
    const auto& dims = pattern.subscripts;
    const auto is_open = [](const ast::Expr* d) {
      return d->kind == ast::ExprKind::ellipsis || d->kind == ast::ExprKind::starred;
    };
    const auto gap = static_cast<size_t>(std::find_if(dims.begin(), dims.end(), is_open) - dims.begin());
    if (std::count_if(dims.begin(), dims.end(), is_open) > 1)
      throw Error("a shape pattern can leave only one part open: " + expected).as(codes::annotation);
    const bool open = gap < dims.size();
    const size_t fixed = dims.size() - (open ? 1 : 0);
    if (open ? shape.size() < fixed : shape.size() != fixed) {
      differs(v, expected,
              {fmt::format("that is {}{} dimension{}, not {}", open ? "at least " : "", fixed, fixed == 1 ? "" : "s",
                           shape.size())});
      return false;
    }
    const size_t extra = shape.size() - fixed;
    size_t axis = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      const auto from = shape.begin() + static_cast<std::ptrdiff_t>(axis);
      if (i == gap) {
        const Shape part(from, from + static_cast<std::ptrdiff_t>(extra));
        if (!match_part(*dims[i], v, part, expected)) return false;
        axis += extra;
      } else if (!match_extent(*dims[i], v, *from, axis++, expected)) {
        return false;
      }
    }
    return true;
  }

  // Matches the open part: `...`, or `*name`, which binds a tuple of extents or compares with one.
  bool match_part(const ast::Expr& d, const Value& v, const Shape& part, const std::string& expected) {
    if (d.kind != ast::ExprKind::starred) return true;
    const auto& inner = *static_cast<const ast::StarredExpr&>(d).value;
    const auto* n = inner.kind == ast::ExprKind::name ? &static_cast<const ast::NameExpr&>(inner) : nullptr;
    if (n && !known(n->name, a_)) {
      bind(n->interned, make_tuple(std::vector<Value>(part.begin(), part.end())));
    } else if (to_shape(evaluate(in_, inner, a_), "shape pattern") != part) {
      differs(v, expected);
      return false;
    }
    return true;
  }

  bool match_extent(const ast::Expr& d, const Value& v, int64_t extent, size_t axis, const std::string& expected) {
    if (d.kind == ast::ExprKind::name) {
      const auto& n = static_cast<const ast::NameExpr&>(d);
      if (n.name == "_") return true;
      const Value* value = known(n.name, a_);
      if (!value) {
        bind(n.interned, extent);
        return true;
      }
      const int64_t want = to_index(*value, "dimension `" + n.name + "` of " + expected);
      if (want == extent) return true;
      differs(v, expected, {fmt::format("dimension `{}` is {}, but axis {} has {}", n.name, want, axis, extent)});
      return false;
    }
    const Value value = d.kind == ast::ExprKind::slice ? Value() : evaluate(in_, d, a_);
    if (value.is_none() || (value.is_int() && value.as_int() < 0)) refuse_dimension(d, expected);
    const int64_t want = located(in_, d.span, [&] { return to_index(value, "dimension of " + expected); });
    if (want == extent) return true;
    differs(v, expected, {fmt::format("axis {} has {}, not {}", axis, extent, want)});
    return false;
  }

  /// A dimension that no extent has: `-1` and `:` mean any extent elsewhere.
  [[noreturn]] void refuse_dimension(const ast::Expr& d, const std::string& expected) {
    Error e(fmt::format("`{}` is no dimension of {}", d.span.text(), expected),
            {"a dimension is an int or a name, and `_` matches any extent"});
    e.as(codes::annotation).offer(d.span, "_").locate(d.span, position_of(in_).frames);
    throw e;
  }

  [[noreturn]] void refuse_unknown(const ast::Expr& e, const std::string& type) {
    std::vector<std::string> names, notes;
    for (const NamedType& t : named_types) names.emplace_back(t.name);
    for (const DTypeRow& row : dtype_table()) names.emplace_back(row.name);
    const std::string dtype = syntax::dtype_of_word(type);
    if (type == "size")
      notes.emplace_back("only the parameters of a program have the kind `size`; here write `int`");
    else if (!dtype.empty())
      notes.push_back(fmt::format("did you mean `{}`?", dtype));
    else if (std::string hint = did_you_mean(type, names); !hint.empty())
      notes.push_back(hint);
    refuse_type(in_, e, "unknown type `" + type + "`", std::move(notes), codes::unknown_name);
  }

  void bind(Name name, Value value) {
    a_.scope->bind(name, std::move(value));
    bound_.push_back(name);
  }

  // Matches a type that the program has bound to a name, or that it computes.
  std::optional<Value> match_type(const ast::Expr& e, const Value& v) {
    if (e.kind == ast::ExprKind::name) {
      const std::string& type = static_cast<const ast::NameExpr&>(e).name;
      if (!a_.scope->find(type)) refuse_unknown(e, type);
    }
    const Value type = evaluate(in_, e, a_);
    const TensorSpec* spec = spec_of(v);
    if (const DType* d = type.as_dtype()) {
      if (spec ? spec->dtype != *d : !v.is_number()) return differs(v, "a tensor of " + std::string(name(*d)));
      return v;
    }
    if (const TensorSpec* s = type.as_spec()) {
      if (!spec || spec->shape != s->shape || spec->dtype != s->dtype) return differs(v, text(*s));
      return v;
    }
    if (auto* r = type.as<RecordType>()) {
      auto* record = v.as<RecordObject>();
      if (!record || record->type->code != r->code) return differs(v, "a record " + r->code->name);
      return v;
    }
    if (auto* m = type.as<ModuleObject>()) {
      auto* instance = v.as<ModuleInstance>();
      if (!instance || instance->code != m->code) return differs(v, "a module " + m->code->name);
      return v;
    }
    refuse_type(in_, e, fmt::format("`{}` is no type", e.span.text()),
                {"types are int, float, bool, str, list, tuple, dict, array, tensor, tree, modules, records, dtypes "
                 "and specs"});
  }

  Interpreter& in_;
  Activation& a_;
  std::vector<Name> bound_;
};

/// `subject()` names the value in an error.
template <class F>
Value checked(Interpreter& in, F&& subject, const ast::Expr& annotation, const Value& v, Activation& a) {
  Matcher matcher(in, a);
  if (std::optional<Value> found = matcher.match(annotation, v)) return *std::move(found);
  Mismatch& why = matcher.mismatch;
  throw Error(fmt::format("{}: expected {}, got {}", subject(), why.expected, why.got), std::move(why.notes))
      .as(codes::annotation);
}

}  // namespace

uint32_t kinds_of_type(const ast::Expr& annotation) {
  if (annotation.kind == ast::ExprKind::none) return Value::none_kind;
  if (annotation.kind == ast::ExprKind::name) {
    const NamedType* type = find_named_type(static_cast<const ast::NameExpr&>(annotation).name);
    return type ? type->kinds : 0;
  }
  const auto alternatives = alternatives_of(annotation);
  uint32_t all = 0, converted = 0;
  for (size_t i = 0; i < alternatives.size() && alternatives.size() > 1; ++i) {
    const uint32_t kinds = kinds_of_type(*alternatives[i]);
    if (kinds == 0) return 0;
    all |= kinds & ~converted;
    if (kinds == Value::float_kind) converted = Value::int_kinds & ~all;  // `float` comes first: an int becomes one
  }
  return all;
}

uint32_t kinds_of(const ast::Parameter& p) {
  if (!p.kinds) {
    const uint32_t absent = p.default_value ? Value::none_kind : 0;
    p.kinds = !p.annotation ? Value::any_kind : p.collects() ? 0 : kinds_of_type(*p.annotation) | absent;
  }
  return *p.kinds;
}

bool take_values(const std::vector<ast::Parameter>& parameters) {
  return std::ranges::none_of(parameters, [](const ast::Parameter& p) {
    return p.collects() || p.by_name || p.by_ref || (p.annotation && kinds_of_type(*p.annotation) == 0);
  });
}

bool have_kinds(const std::vector<ast::Parameter>& parameters, const Value* values, size_t count) {
  if (count != parameters.size()) return false;
  for (size_t i = 0; i < count; ++i)
    if ((kinds_of(parameters[i]) & values[i].kind_bit()) == 0) return false;
  return true;
}

Value check_argument(Interpreter& in, const std::string& what, const ast::Parameter& p, Value v, Activation& a) {
  const auto subject = [&] { return fmt::format("{}: argument `{}`", what, p.name); };
  if (p.rest) {
    std::vector<Value> items = elements_of(in, v);
    for (Value& item : items) item = checked(in, subject, *p.annotation, item, a);
    return make_list(std::move(items));
  }
  if (p.options) {
    for (auto& option : v.as<DictObject>()->items) {
      const auto named = [&] { return fmt::format("{}: argument `{}`", what, *option.first.as_string()); };
      option.second = checked(in, named, *p.annotation, option.second, a);
    }
    return v;
  }
  return checked(in, subject, *p.annotation, v, a);
}

DeclaredResults::DeclaredResults(Interpreter& in, const ast::Function& f, const Activation& a) : in_(in), f_(f) {
  if (f.results.empty()) return;
  a_.scope = make_ref<Scope>(a.scope->outer);
  a_.self = a.self;
  NameVisitor visitor;
  visitor.name = [&](const ast::NameExpr& n) {
    if (const Value* v = a.scope->find_here(n.interned)) a_.scope->bind(n.interned, *v);
  };
  visitor.lambda = [](const ast::Function&) {};
  visitor.target = [](const ast::Expr&) {};
  for (const ast::Expr* r : f.results) visit_names(r, visitor);
}

Value DeclaredResults::check(Value result, const Span& returned) {
  const size_t count = f_.results.size();
  if (count == 0 || (in_.checking && is_unknown(result))) return result;
  try {
    if (count == 1)
      return checked(
          in_, [&] { return f_.qualified + ": result"; }, *f_.results[0], result, a_);
    auto* tuple = result.as<TupleObject>();
    if (!tuple || tuple->items.size() != count)
      throw Error(fmt::format("{}: expected {} results, got {}", f_.qualified, count,
                              tuple ? std::to_string(tuple->items.size()) : described(in_, result)))
          .as(codes::annotation);
    std::vector<Value> items;
    for (size_t i = 0; i < count; ++i)
      items.push_back(checked(
          in_, [&] { return fmt::format("{}: result {}", f_.qualified, i); }, *f_.results[i], tuple->items[i], a_));
    return make_tuple(std::move(items));
  } catch (Error& e) {
    e.locate(returned ? returned : f_.span, position_of(in_).frames);
    throw;
  }
}

}  // namespace pxl
