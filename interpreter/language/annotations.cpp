// Type annotations and shape patterns: `n: int`, `x: tensor[..., d]`, `w: float32[n, 4]`. A pattern checks a shape
// and names its free dimensions; only the instance's configuration and earlier arguments are treated as known.
#include <fmt/format.h>

#include <array>

#include "interpreter/graphs/graph_values.hpp"
#include "interpreter/graphs/modules.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/suggest.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

namespace {

constexpr std::array kTypeNames{"int",    "float", "bool",  "str",   "list",   "tuple", "dict",   "array",
                                "tensor", "spec",  "dtype", "range", "stream", "any",   "module", "function"};

struct Check {
  Interpreter& in;
  const std::string& what;
  const ast::Parameter& p;
  const Value& v;
  Activation& a;

  std::string got() const {
    if (const Tensor* t = as_tensor(v)) return text(t->spec);
    if (const Array* x = v.as_array()) return "an array " + text(x->spec());
    if (const TensorSpec* s = v.as_spec()) return "the spec " + text(*s);
    if (v.is_number()) return with_article(v.type_name()) + ", " + repr_of(in, v);
    return with_article(v.type_name());
  }
  [[noreturn]] void refuse(const std::string& expected, std::vector<std::string> notes = {}) const {
    throw Error(fmt::format("{}: argument `{}`: expected {}, got {}", what, p.name, expected, got()), std::move(notes))
        .as(codes::annotation);
  }
};

// The spec that a pattern is matched against: a tensor's, an array's or a spec itself.
const TensorSpec* spec_of(const Value& v) {
  if (const Tensor* t = as_tensor(v)) return &t->spec;
  if (const Array* x = v.as_array()) return &x->spec();
  return v.as_spec();
}

// A name that a pattern may read: an argument bound before, or a part of the instance's configuration.
const Value* known(const std::string& name, Activation& a) {
  if (const Value* v = a.scope->find_here(name)) return v;
  if (auto* self = a.self.as<ModuleInstance>()) {
    if (self->scope && self->scope != a.scope && self->configuration.count(name)) return self->scope->find_here(name);
  }
  return nullptr;
}

void match_pattern(const Check& c, const ast::IndexExpr& pattern, const Shape& shape) {
  const std::string expected(pattern.span.text());
  const auto& dims = pattern.subscripts;
  size_t gap = dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool open = dims[i]->kind == ast::ExprKind::ellipsis || dims[i]->kind == ast::ExprKind::starred;
    if (!open) continue;
    if (gap < dims.size())
      throw Error("a shape pattern can leave only one part open: " + expected).as(codes::annotation);
    gap = i;
  }
  const bool open = gap < dims.size();
  const size_t fixed = dims.size() - (open ? 1 : 0);
  if (open ? shape.size() < fixed : shape.size() != fixed) {
    c.refuse(expected, {fmt::format("that is {}{} dimension{}, not {}", open ? "at least " : "", fixed,
                                    fixed == 1 ? "" : "s", shape.size())});
  }
  const size_t extra = shape.size() - fixed;
  size_t axis = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const ast::Expr& d = *dims[i];
    if (i == gap) {
      if (d.kind == ast::ExprKind::starred) {
        const auto& inner = *static_cast<const ast::StarredExpr&>(d).value;
        const Shape part(shape.begin() + static_cast<std::ptrdiff_t>(axis),
                         shape.begin() + static_cast<std::ptrdiff_t>(axis + extra));
        const auto* n = inner.kind == ast::ExprKind::name ? &static_cast<const ast::NameExpr&>(inner) : nullptr;
        if (n && !known(n->name, c.a)) {
          c.a.scope->bind(n->name, make_tuple(std::vector<Value>(part.begin(), part.end())));
        } else if (to_shape(evaluate(c.in, inner, c.a), "shape pattern") != part) {
          c.refuse(expected);
        }
      }
      axis += extra;
      continue;
    }
    const int64_t extent = shape[axis++];
    if (d.kind == ast::ExprKind::name) {
      const std::string& n = static_cast<const ast::NameExpr&>(d).name;
      if (n == "_") continue;
      const Value* value = known(n, c.a);
      if (!value) {
        c.a.scope->bind(n, extent);
        continue;
      }
      const int64_t want = to_index(*value, "dimension `" + n + "` of " + expected);
      if (want != extent) {
        c.refuse(expected, {fmt::format("dimension `{}` is {}, but axis {} has {}", n, want, axis - 1, extent)});
      }
      continue;
    }
    const int64_t want = to_index(evaluate(c.in, d, c.a), "dimension of " + expected);
    if (want != extent && want != -1) {
      c.refuse(expected, {fmt::format("axis {} has {}, not {}", axis - 1, extent, want)});
    }
  }
}

// A type by its name: whether the value is of it; `v` is converted if the type requires it.
bool of_named_type(Interpreter& in, const std::string& type, Value& v) {
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
  if (type == "module") return v.as<ModuleInstance>() != nullptr;
  (void)in;
  return v.type_name() == type;
}

}  // namespace

Value check_annotation(Interpreter& in, const std::string& what, const ast::Parameter& p, Value v, Activation& a) {
  const ast::Expr& e = *p.annotation;
  if (p.rest) {
    // Each of the arguments is of the type.
    ast::Parameter one = p;
    one.rest = false;
    std::vector<Value> items;
    for (Value& item : elements_of(in, v)) items.push_back(check_annotation(in, what, one, std::move(item), a));
    return make_list(std::move(items));
  }
  const Check c{in, what, p, v, a};
  if (e.kind == ast::ExprKind::name) {
    const std::string& type = static_cast<const ast::NameExpr&>(e).name;
    for (const char* known_type : kTypeNames) {
      if (type != known_type) continue;
      Value converted = v;
      if (!of_named_type(in, type, converted)) c.refuse(with_article(type));
      return converted;
    }
    const Value* bound = a.scope->find(type);
    if (!bound) {
      std::vector<std::string> names(kTypeNames.begin(), kTypeNames.end()), notes;
      for (const DTypeRow& row : dtype_table()) names.emplace_back(row.name);
      if (std::string hint = did_you_mean(type, names); !hint.empty()) notes.push_back(hint);
      Error error("unknown type `" + type + "`", notes);
      error.as(codes::unknown_name);
      error.locate(e.span, position_of(in).frames);
      throw error;
    }
  }
  if (e.kind == ast::ExprKind::none) {
    if (!v.is_none()) c.refuse("none");
    return v;
  }
  if (e.kind == ast::ExprKind::index) {
    const auto& pattern = static_cast<const ast::IndexExpr&>(e);
    std::optional<DType> dtype;
    const auto* base =
        pattern.base->kind == ast::ExprKind::name ? &static_cast<const ast::NameExpr&>(*pattern.base) : nullptr;
    if (!base || (base->name != "tensor" && base->name != "array")) {
      if (base && (base->name == "list" || base->name == "tuple" || base->name == "dict")) {
        Value same = v;
        if (!of_named_type(in, base->name, same)) c.refuse(with_article(base->name));
        return v;
      }
      dtype = to_dtype(evaluate(in, *pattern.base, a), "type annotation");
    }
    const TensorSpec* spec = spec_of(v);
    if (base && base->name == "array" && !v.as_array()) c.refuse(std::string(e.span.text()));
    // A number matches a pattern without dimensions.
    if (!spec && v.is_number() && pattern.subscripts.empty()) return v;
    if (!spec) c.refuse(std::string(e.span.text()));
    if (dtype && spec->dtype != *dtype) c.refuse(std::string(e.span.text()));
    const Shape shape = spec->shape;
    match_pattern(c, pattern, shape);
    return v;
  }
  const Value type = evaluate(in, e, a);
  if (const DType* d = type.as_dtype()) {
    const TensorSpec* spec = spec_of(v);
    if (spec ? spec->dtype != *d : !v.is_number()) c.refuse("a tensor of " + std::string(name(*d)));
    return v;
  }
  if (const TensorSpec* s = type.as_spec()) {
    const TensorSpec* spec = spec_of(v);
    if (!spec || spec->shape != s->shape || spec->dtype != s->dtype) c.refuse(text(*s));
    return v;
  }
  if (auto* m = type.as<ModuleObject>()) {
    auto* instance = v.as<ModuleInstance>();
    if (!instance || instance->code != m->code) c.refuse("a module " + m->code->name);
    return v;
  }
  Error error(fmt::format("`{}` is no type", e.span.text()),
              {"types are int, float, bool, str, list, tuple, dict, array, tensor, modules, dtypes and specs"});
  error.as(codes::annotation);
  error.locate(e.span, position_of(in).frames);
  throw error;
}

}  // namespace pxl
