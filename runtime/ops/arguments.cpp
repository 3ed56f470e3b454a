// Argument resolution: defaults, constants from host values, attributes of each kind.
#include "runtime/ops/arguments.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/ops/infer.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

std::string_view kind_text(const OpArg& arg) {
  if (std::holds_alternative<std::monostate>(arg)) return "none";
  if (const Expr* e = std::get_if<Expr>(&arg)) return e->is_tensor() ? "a tensor" : "an array";
  if (std::holds_alternative<std::vector<Expr>>(arg)) return "a list of tensors";
  static constexpr std::string_view names[] = {
      "none", "a bool", "an integer", "a number", "a string", "a list of integers", "a list of numbers", "a dtype"};
  return names[std::get<Attr>(arg).index()];
}

struct Resolver {
  OpBuilder& at;
  const OpRow& row;
  const Param* param = nullptr;
  bool have_reference = false;  ///< some operand determines the dtype of constants
  bool reference_is_tensor = false;
  DType reference = DType::float32;
  std::string reference_label = {};

  [[noreturn]] void refuse(std::string_view wanted, const OpArg& arg) const {
    throw Error(fmt::format("{}: {} must be {}, not {}", row.name, param->name, wanted, kind_text(arg)))
        .as(codes::type);
  }

  // Records the operand that determines the dtype of constants: the first tensor, else the first array.
  void consider(const Expr& e) {
    if (!e || (have_reference && (reference_is_tensor || !e.is_tensor()))) return;
    have_reference = true;
    reference_is_tensor = e.is_tensor();
    reference = e.dtype();
    reference_label = e.label();
  }

  void find_reference(const OpArgs& args) {
    for (size_t i = 0; i < row.params.size(); ++i) {
      const ParamKind kind = row.params[i].kind;
      if (kind != ParamKind::tensor && kind != ParamKind::optional_tensor && kind != ParamKind::tensors) continue;
      if (const Expr* e = std::get_if<Expr>(&args.values[i])) consider(*e);
      if (const auto* list = std::get_if<std::vector<Expr>>(&args.values[i]))
        for (const Expr& e : *list) consider(e);
    }
    if (have_reference) return;
    for (size_t i = 0; i < row.params.size(); ++i) {
      if (row.params[i].kind != ParamKind::dtype || slot_count(row) != 0) continue;
      const Attr* given = std::get_if<Attr>(&args.values[i]);
      const Attr value = given ? *given : attribute(row.params[i].default_value);
      if (const DType* dtype = std::get_if<DType>(&value)) reference = *dtype;
      return;
    }
    // Numbers only: int32, or float32 if one of them is a float.
    reference = DType::int32;
    bool all_bool = true;
    for (size_t i = 0; i < row.params.size(); ++i) {
      if (row.params[i].kind != ParamKind::tensor) continue;
      const Attr* a = std::get_if<Attr>(&args.values[i]);
      if (!a) continue;
      if (!std::holds_alternative<bool>(*a)) all_bool = false;
      if (std::holds_alternative<double>(*a) || std::holds_alternative<std::vector<double>>(*a))
        reference = DType::float32;
    }
    if (all_bool) reference = DType::boolean;
  }

  [[noreturn]] void refuse_fraction(const std::string& what) const {
    throw Error(fmt::format("{}: {} cannot become {} like {}", row.name, what, name(reference), reference_label),
                {fmt::format("convert first: cast({}, float32)", reference_label)})
        .as(codes::dtype);
  }

  // A host array combined with tensors.
  Expr constant_from(const Array& array) const {
    if (array.dtype() == reference || (at.eager() && !reference_is_tensor)) return at.constant(array);
    if (is_float8(reference)) refuse_float8(reference);
    if (!is_floating(reference) && is_floating(array.dtype()))
      refuse_fraction(fmt::format("an array of {}", name(array.dtype())));
    if (reference == DType::boolean && array.dtype() != DType::boolean)
      refuse_fraction(fmt::format("an array of {}", name(array.dtype())));
    return at.constant(convert_exactly(array, reference, row.name));
  }

  Expr constant_from(double value) const {
    if (is_float8(reference)) refuse_float8(reference);
    if (!is_floating(reference) && !at.eager()) refuse_fraction(number_text(value));
    return at.constant(
        convert_exactly(Array::scalar(value), is_floating(reference) ? reference : DType::float32, row.name));
  }

  Expr constant_from(int64_t value) const {
    if (is_float8(reference)) refuse_float8(reference);
    DType dtype = reference;
    if (dtype == DType::boolean && value != 0 && value != 1) {
      if (!at.eager()) refuse_fraction(std::to_string(value));
      dtype = DType::int32;
    }
    const Array exact = Array::full_int(DType::int64, {}, value);
    const bool fits = with_type(dtype, [&]<class T>(type_tag<T>) { return holds<T>(value); });
    if (!fits && at.eager() && !have_reference) return at.constant(exact);
    return at.constant(convert_exactly(exact, dtype, row.name));
  }

  Expr operand(const OpArg& arg) const {
    if (const Expr* e = std::get_if<Expr>(&arg)) return e->is_tensor() ? *e : constant_from(e->array());
    if (const Attr* a = std::get_if<Attr>(&arg)) {
      if (const bool* v = std::get_if<bool>(a)) return constant_from(int64_t{*v});
      if (const int64_t* v = std::get_if<int64_t>(a)) return constant_from(*v);
      if (const double* v = std::get_if<double>(a)) return constant_from(*v);
      if (const auto* v = std::get_if<std::vector<int64_t>>(a)) return constant_from(list_array<int32_t, int64_t>(*v));
      if (const auto* v = std::get_if<std::vector<double>>(a)) return constant_from(list_array<float, double>(*v));
    }
    refuse("a tensor", arg);
  }

  // An operand whose dtype no other one decides.
  Expr own_operand(const OpArg& arg) const {
    if (const Expr* e = std::get_if<Expr>(&arg); e && !e->is_tensor()) return at.constant(e->array());
    Resolver alone{.at = at, .row = row, .param = param};
    return alone.operand(arg);
  }

  template <class T, class From>
  Array list_array(const std::vector<From>& values) const {
    Array a(dtype_of<T>(), {static_cast<int64_t>(values.size())});
    T* to = a.mutable_data<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (!holds<T>(values[i])) refuse_value(values[i], dtype_of<T>(), row.name);
      to[i] = static_cast<T>(values[i]);
    }
    return a;
  }

  // Labels and indices: 64-bit host integers are narrowed like other host data; bools are rejected, as they are
  // conditions.
  Expr index(const OpArg& arg) const {
    Array a;
    if (const Expr* e = std::get_if<Expr>(&arg)) {
      if (e->is_tensor()) return *e;
      a = e->array();
    } else if (const Attr* v = std::get_if<Attr>(&arg)) {
      if (const bool* b = std::get_if<bool>(v))
        a = Array::scalar<bool>(*b);
      else if (const int64_t* i = std::get_if<int64_t>(v))
        a = Array::scalar<int64_t>(*i);
      else if (const auto* list = std::get_if<std::vector<int64_t>>(v))
        a = list_array<int32_t, int64_t>(*list);
      else
        refuse("a tensor of integers", arg);
    } else {
      refuse("a tensor of integers", arg);
    }
    if (is_floating(a.dtype()))
      throw Error(fmt::format("{}: {} must be a tensor of integers, not an array of {}", row.name, param->name,
                              name(a.dtype())),
                  {"cast it: cast(x, int32)"})
          .as(codes::type);
    if (a.dtype() == DType::int64 || a.dtype() == DType::uint64) {
      if (std::holds_alternative<Expr>(arg)) at.note_elements_read();  // converting them may fail
      a = convert_exactly(a, DType::int32, row.name);
    }
    return at.constant(std::move(a));
  }

  // Scalar arrays and constants are accepted as numbers, since their values are known.
  const Array* scalar_array(const Expr& e) const {
    if (e.rank() != 0 || (e.is_tensor() && e.tensor()->kind != TensorKind::constant)) return nullptr;
    at.note_elements_read();
    return e.is_tensor() ? &e.tensor()->data : &e.array();
  }
  Attr scalar_of(const OpArg& arg) const {
    if (const Attr* a = std::get_if<Attr>(&arg)) return *a;
    const Expr* e = std::get_if<Expr>(&arg);
    const Array* scalar = e ? scalar_array(*e) : nullptr;
    if (!scalar) return std::monostate{};
    const Array& a = *scalar;
    if (is_floating(a.dtype())) return a.number(0);
    if (a.dtype() == DType::boolean) return a.integer(0) != 0;
    return a.integer(0);
  }

  /// The dtype of the elements beside which numbers of kind `element` take part.
  DType element_dtype() const {
    if (is_floating(reference) || is_float8(reference)) return reference;
    return needs_floats(row.infer) ? DType::float32 : reference == DType::boolean ? DType::int32 : reference;
  }

  /// A fractional element turns an array of ints into floats, as `+` does.
  void promote_to_fractions(OpArgs& args) {
    if (!at.eager() || row.modifies != 0 || is_floating(element_dtype())) return;
    const auto is_fraction = [&](size_t i) {
      return row.params[i].kind == ParamKind::element && std::holds_alternative<double>(scalar_of(args.values[i]));
    };
    bool fractions = false;
    for (size_t i = 0; i < row.params.size(); ++i) fractions |= is_fraction(i);
    if (!fractions) return;
    reference = DType::float32;
    if (const Expr* e = std::get_if<Expr>(&args.values[0])) args.values[0] = cast(*e, reference);
  }

  /// A number that takes part as an element does.
  Attr element(const OpArg& arg) const {
    const DType dtype = element_dtype();
    // No attribute has the range of uint64, so the attribute holds the element's bits.
    if (const Expr* e = std::get_if<Expr>(&arg); e && e->dtype() == DType::uint64 && dtype == DType::uint64)
      return static_cast<int64_t>(scalar_array(*e)->data<uint64_t>()[0]);
    const auto fitting = [&](auto value) {
      if (!is_float8(dtype))
        with_type(dtype, [&]<class T>(type_tag<T>) {
          if (!holds<T>(value)) refuse_value(value, dtype, fmt::format("{}: `{}`", row.name, param->name));
        });
      return Attr(value);
    };
    const Attr a = scalar_of(arg);
    if (const bool* b = std::get_if<bool>(&a)) return fitting(int64_t{*b});
    if (const int64_t* i = std::get_if<int64_t>(&a)) return fitting(*i);
    const double* d = std::get_if<double>(&a);
    if (!d) refuse("a number", arg);
    if (!is_floating(dtype)) refuse_fraction(number_text(*d));
    return fitting(*d);
  }

  Attr integer(const OpArg& arg) const {
    const Attr a = scalar_of(arg);
    if (const int64_t* i = std::get_if<int64_t>(&a)) return *i;
    if (const bool* b = std::get_if<bool>(&a)) return int64_t{*b};
    if (const double* d = std::get_if<double>(&a))
      if (std::floor(*d) == *d && std::abs(*d) < 9e15) return static_cast<int64_t>(*d);
    refuse("an integer", arg);
  }

  /// A number in the op's arithmetic: float64 beside float64 operands, and float32 beside other floats.
  Attr number(const OpArg& arg) const {
    const Attr a = scalar_of(arg);
    double value = 0;
    if (const double* d = std::get_if<double>(&a))
      value = *d;
    else if (const int64_t* i = std::get_if<int64_t>(&a))
      value = static_cast<double>(*i);
    else if (const bool* b = std::get_if<bool>(&a))
      value = *b ? 1.0 : 0.0;
    else
      refuse("a number", arg);
    if (is_floating(reference) && reference != DType::float64 && !holds<float>(value))
      refuse_value(value, DType::float32, fmt::format("{}: `{}`", row.name, param->name));
    return value;
  }

  Attr integers(const OpArg& arg, std::string_view wanted) const {
    if (const Attr* a = std::get_if<Attr>(&arg)) {
      if (std::holds_alternative<std::vector<int64_t>>(*a)) return *a;
      if (const auto* d = std::get_if<std::vector<double>>(a); d && d->empty()) return std::vector<int64_t>{};
      if (std::holds_alternative<int64_t>(*a)) return *a;
    }
    if (const Expr* e = std::get_if<Expr>(&arg); e && !e->is_tensor() && is_integer(e->dtype()) && e->rank() <= 1) {
      const Array& a = e->array();
      at.note_elements_read();
      if (a.rank() == 0) return a.integer(0);
      std::vector<int64_t> values;
      for (int64_t i = 0; i < a.size(); ++i) values.push_back(a.integer(i));
      return values;
    }
    if (const auto* list = std::get_if<std::vector<Expr>>(&arg); list && list->empty()) return std::vector<int64_t>{};
    refuse(wanted, arg);
  }

  Attr list_of_integers(const OpArg& arg, std::string_view wanted) const {
    Attr a = integers(arg, wanted);
    if (const int64_t* i = std::get_if<int64_t>(&a)) return std::vector<int64_t>{*i};
    return a;
  }

  Attr numbers(const OpArg& arg) const {
    if (const Attr* a = std::get_if<Attr>(&arg)) {
      if (std::holds_alternative<std::vector<double>>(*a)) return *a;
      if (const auto* list = std::get_if<std::vector<int64_t>>(a))
        return std::vector<double>(list->begin(), list->end());
    }
    if (const Expr* e = std::get_if<Expr>(&arg); e && !e->is_tensor() && e->rank() == 1) {
      std::vector<double> values;
      at.note_elements_read();
      for (int64_t i = 0; i < e->array().size(); ++i) values.push_back(e->array().number(i));
      return values;
    }
    refuse("a list of numbers", arg);
  }

  OpArg resolved(const OpArg& arg) const {
    switch (param->kind) {
      case ParamKind::tensor:
      case ParamKind::optional_tensor: return operand(arg);
      case ParamKind::own_tensor: return own_operand(arg);
      case ParamKind::index: return index(arg);
      case ParamKind::tensors: {
        std::vector<Expr> list;
        if (const auto* given = std::get_if<std::vector<Expr>>(&arg))
          for (const Expr& e : *given) list.push_back(operand(e));
        else
          list.push_back(operand(arg));
        if (list.empty()) throw Error(fmt::format("{}: {} needs at least one tensor", row.name, param->name));
        return list;
      }
      case ParamKind::number_or_tensor: {
        const Expr* e = std::get_if<Expr>(&arg);
        if (e && (e->is_tensor() || e->rank() != 0)) return e->is_tensor() ? *e : constant_from(e->array());
        return number(arg);
      }
      case ParamKind::integer: return integer(arg);
      case ParamKind::number: return number(arg);
      case ParamKind::element: return element(arg);
      case ParamKind::boolean: {
        const Attr a = scalar_of(arg);
        if (const bool* b = std::get_if<bool>(&a)) return Attr(*b);
        if (const int64_t* i = std::get_if<int64_t>(&a)) return Attr(*i != 0);
        refuse("true or false", arg);
      }
      case ParamKind::string:
        if (const Attr* a = std::get_if<Attr>(&arg); a && std::holds_alternative<std::string>(*a)) return *a;
        refuse("a string", arg);
      case ParamKind::dtype:
        if (const Attr* a = std::get_if<Attr>(&arg); a && std::holds_alternative<DType>(*a)) return *a;
        refuse("a dtype such as float32", arg);
      case ParamKind::shape: return list_of_integers(arg, "a list of integers");
      case ParamKind::axes: return list_of_integers(arg, "an integer, a list of integers or none");
      case ParamKind::integers: return integers(arg, "an integer or a list of integers");
      case ParamKind::numbers: return numbers(arg);
      case ParamKind::group: {
        const Attr* a = std::get_if<Attr>(&arg);
        if (!a || !std::holds_alternative<ReplicaGroups>(*a)) refuse("a replica grouping", arg);
        const auto& groups = std::get<ReplicaGroups>(*a);
        if (at.eager() && groups.size() > 1)
          throw Error(fmt::format("{}: an array has one replica, the group is of {}", row.name, groups.size()),
                      {"in a program, it works on the tensors of all replicas"})
              .as(codes::replicas);
        check_groups(groups, at.replicas());
        return *a;
      }
    }
    return arg;
  }
};

/// All replicas; if the first operand is a shard, its groups.
ReplicaGroups default_groups(const OpBuilder& at, const OpArgs& args) {
  if (args.has_expr(0) && args.expr(0).spec().is_shard()) return args.expr(0).spec().shard_groups;
  return one_group(at.replicas());
}

}  // namespace

DType promoted(DType a, DType b) {
  if (a == b) return a;
  const auto rank = [](DType t) { return is_floating(t) ? 2 : is_integer(t) ? 1 : 0; };
  if (rank(a) != rank(b)) return rank(a) > rank(b) ? a : b;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  if (is_floating(a)) return compute_dtype(a);  // float16 and bfloat16
  // Equal width, signed and unsigned: the next wider signed type represents both.
  switch (size_of(a)) {
    case 1: return DType::int16;
    case 2: return DType::int32;
    default: return DType::int64;
  }
}

OpArgs resolve(OpBuilder& at, const OpRow& row, OpArgs args) {
  if (args.values.size() > row.params.size())
    throw Error(fmt::format("{} takes {} arguments, not {}", row.name, row.params.size(), args.values.size()))
        .as(codes::arguments);
  args.values.resize(row.params.size());
  Resolver r{.at = at, .row = row};
  r.find_reference(args);
  r.promote_to_fractions(args);
  for (size_t i = 0; i < row.params.size(); ++i) {
    r.param = &row.params[i];
    OpArg& arg = args.values[i];
    // An empty Expr represents an absent operand.
    if (const Expr* e = std::get_if<Expr>(&arg); e && !*e) arg = std::monostate{};
    if (args.is_none(i)) {
      // `none` for a parameter with a default value means the default.
      if (r.param->default_value.kind == Default::required && r.param->kind != ParamKind::optional_tensor)
        throw Error(fmt::format("{}: missing {}", row.name, r.param->name),
                    {fmt::format("it takes {}",
                                 [&] {
                                   std::string list;
                                   for (const Param& p : row.params)
                                     list += fmt::format("{}{}", list.empty() ? "" : ", ", p.name);
                                   return list;
                                 }())})
            .as(codes::arguments);
      const Attr value =
          r.param->kind == ParamKind::group ? Attr(default_groups(at, args)) : attribute(r.param->default_value);
      arg = value;
      if (std::holds_alternative<std::monostate>(value) || r.param->kind == ParamKind::element) continue;
    }
    arg = r.resolved(arg);
  }
  return args;
}

}  // namespace pxl
