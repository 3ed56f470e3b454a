// Values to operands and attributes.
#include "interpreter/graphs/ops/op_operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "interpreter/graphs/calls/call_cache.hpp"
#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/subscripts.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/ops/infer.hpp"

namespace pxl {

void OperandWorld::look(const Value& v) {
  if (const auto* list = look_at_one(v)) look_within(*list);
}

const SequenceObject* OperandWorld::look_at_one(const Value& v) {
  if (v.is_none()) return nullptr;
  any = true;
  if (Tensor* t = as_tensor(v)) {
    tensors = true;
    if (!first) first = t;
  } else if (v.as_array()) {
    arrays = true;
  } else if (v.is_float()) {
    floats = true;
  } else {
    return v.as<SequenceObject>();
  }
  return nullptr;
}

// Reads each list once, even if it contains itself or occurs several times. Lists of plain operands need no set.
void OperandWorld::look_within(const SequenceObject& list) {
  struct Open {
    const SequenceObject* list;
    size_t next;
  };
  std::vector<Open> open{{&list, 0}};
  std::unordered_set<const SequenceObject*> seen;
  while (!open.empty()) {
    Open& innermost = open.back();
    if (innermost.next == innermost.list->items.size()) {
      open.pop_back();
      continue;
    }
    const SequenceObject* inner = look_at_one(innermost.list->items[innermost.next++]);
    if (!inner) continue;
    if (seen.empty()) seen.insert(&list);
    if (seen.insert(inner).second) open.push_back({inner, 0});
  }
}

namespace {

// Whether a list may hold an array: it does, or it is nested deeper than the lists of recorded calls (call_cache.hpp).
bool may_hold_array(const Value& v, int depth = 0) {
  const auto* list = v.as<SequenceObject>();
  if (!list) return v.as_array() != nullptr;
  return depth == CallKey::max_list_depth ||
         std::any_of(list->items.begin(), list->items.end(),
                     [&](const Value& item) { return may_hold_array(item, depth + 1); });
}

class Converter {
 public:
  Converter(Interpreter& in, OpBuilder& at, const OpRow& row, const OperandWorld& world)
      : in_(in), at_(at), row_(row), world_(world) {}

  OpArg convert(const Param& p, const Value& v) const {
    if (v.is_none()) return std::monostate{};
    if (p.kind == ParamKind::tensors) {
      auto* list = v.as<SequenceObject>();
      std::vector<Expr> out;
      // A list of plain numbers is one operand. A list of lists, arrays and tensors is several operands.
      const std::vector<Value> items = list ? list->items : std::vector<Value>{v};
      const std::optional<DType> beside = dtype_beside(items);
      for (const Value& item : items)
        out.push_back(item.is_number() && beside ? Expr(at_, number_beside(item, *beside)) : as_expr(p, item));
      return out;
    }
    if (is_operand(p.kind)) return operand(p, v);
    return attribute(p, v);
  }

 private:
  [[noreturn]] void refuse(const Param& p, const Value& v, std::string_view expected) const {
    throw Error(
        fmt::format("{}: `{}`: expected {}, got {}", row_.name, p.name, expected, with_article(v.type_name())),
        v.as_spec() ? std::vector<std::string>{"a spec has no data: give a tensor or an array"} : notes_on_misuse(v))
        .as(codes::type);
  }

  // Host numbers compute in 64 bits, as host arithmetic does. They take the dtype of arrays and tensors beside them.
  bool plain_numbers() const { return !world_.tensors && !world_.arrays; }
  std::optional<DType> wide() const {
    if (!plain_numbers()) return std::nullopt;
    if (world_.floats || needs_floats(row_.infer)) return DType::float64;
    return DType::int64;
  }

  // The dtype that numbers take among these operands: the dtype of the first tensor, or else of the first array.
  std::optional<DType> dtype_beside(const std::vector<Value>& items) const {
    if (world_.first) return world_.first->spec.dtype;
    for (const Value& item : items)
      if (const Array* a = item.as_array()) return a->dtype();
    return std::nullopt;
  }
  // Bools and fractions beside ints keep their own dtype.
  Array number_beside(const Value& v, DType beside) const {
    const bool own = v.is_bool() || is_float8(beside) || (!is_floating(beside) && (v.is_float() || v.is_natural())) ||
                     beside == DType::boolean;
    return own ? to_array(in_, v) : to_array(in_, v, beside, row_.name);
  }

  // The conversion of a list depends on the elements of its arrays.
  void read_list(const Value& v) const {
    if (may_hold_array(v)) at_.note_elements_read();
  }

  Array host_array(const Value& v, std::optional<DType> type) const {
    read_list(v);
    return type ? to_array(in_, v, *type, row_.name) : to_array(in_, v);
  }

  OpArg operand(const Param& p, const Value& v) const {
    if (v.is_natural()) return as_expr(p, v);
    if (v.is_bool() && !needs_floats(row_.infer)) return Attr(v.as_bool());
    if (v.is_number() && p.kind == ParamKind::number_or_tensor) return number(v);
    if (v.is_number() && plain_numbers() && p.kind != ParamKind::index) {
      return Expr(at_, host_array(v, wide()));
    }
    if (v.is_number()) return number(v);
    return as_expr(p, v);
  }

  Expr as_expr(const Param& p, const Value& v) const {
    if (Tensor* t = as_tensor(v)) return Expr(at_, reached(in_, t));
    if (const Array* a = v.as_array()) return Expr(at_, *a);
    if (v.is_number()) {
      return Expr(at_, host_array(v, v.is_natural() ? DType::uint64 : wide()));
    }
    if (v.as<SequenceObject>() || v.as<RangeObject>()) {
      if (mentions_tensor(v)) refuse(p, v, "one tensor");
      const bool only_bools = !world_.floats && is_bool_list(v);
      std::optional<DType> type = p.kind == ParamKind::index ? std::nullopt : wide();
      if (only_bools && !needs_floats(row_.infer)) type.reset();
      return Expr(at_, host_array(v, type));
    }
    refuse(p, v, p.kind == ParamKind::index ? "a tensor or array of ints" : "a tensor, an array or a number");
  }

  static bool is_bool_list(const Value& v) {
    auto* s = v.as<SequenceObject>();
    return s && !s->items.empty() && s->items[0].is_bool();
  }

  static Attr number(const Value& v) {
    if (v.is_bool()) return v.as_bool();
    if (v.is_int()) return v.as_int();
    return v.as_double();
  }

  OpArg attribute(const Param& p, const Value& v) const {
    if (p.kind == ParamKind::dtype) {
      const std::string what = fmt::format("{}: `{}`", row_.name, p.name);
      return Attr(to_dtype(v, what.c_str()));
    }
    if (p.kind == ParamKind::group) {
      const auto* grouping = v.as<ReplicaGroupingObject>();
      if (!grouping) refuse(p, v, "a replica grouping, as `ir.replica_grouping(...)` gives");
      return Attr(grouping->groups);
    }
    if (v.is_natural()) return as_expr(p, v);
    if (v.is_number()) return number(v);
    if (const std::string* s = v.as_string()) return Attr(*s);
    if (const DType* d = v.as_dtype()) return Attr(*d);
    if (const Array* a = v.as_array()) return Expr(at_, *a);
    if (const TensorSpec* s = v.as_spec(); s && p.kind == ParamKind::shape) return Attr(s->shape);
    if (Tensor* t = as_tensor(v)) return Expr(at_, reached(in_, t));
    if (v.as<SequenceObject>() || v.as<RangeObject>()) {
      read_list(v);
      const std::vector<Value> items = elements_of(in_, v);
      const bool floats = std::any_of(items.begin(), items.end(), [](const Value& x) { return x.is_float(); });
      if (floats || p.kind == ParamKind::numbers) {
        std::vector<double> out;
        for (const Value& x : items) {
          if (!x.is_number()) refuse(p, x, "numbers");
          out.push_back(x.as_double());
        }
        return Attr(out);
      }
      std::vector<int64_t> out;
      const std::string what = fmt::format("{}: `{}`", row_.name, p.name);
      for (const Value& x : items) out.push_back(to_index(x, what));
      return Attr(out);
    }
    refuse(p, v, "an attribute");
  }

  Interpreter& in_;
  OpBuilder& at_;
  const OpRow& row_;
  const OperandWorld& world_;
};

}  // namespace

OpArgs convert_all(Interpreter& in, OpBuilder& at, const OpRow& row, const OperandWorld& world,
                   const std::vector<std::optional<Value>>& values, const std::vector<Span>& places) {
  const Converter converter(in, at, row, world);
  OpArgs args;
  args.values.resize(row.params.size());
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (!values[i]) continue;
    try {
      args.values[i] = converter.convert(row.params[i], *values[i]);
    } catch (Error& e) {
      if (places[i]) e.locate(places[i], position_of(in).frames);
      throw;
    }
  }
  return args;
}

}  // namespace pxl
