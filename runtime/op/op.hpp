// The columns of an op. An op is declared once, as one OpRow in a table of runtime/ops; the elaborator, help,
// autodiff, the planner, the tile model, the docs and the op tests all read that row. Adding an op is adding a row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/kernels/matmul.hpp"
#include "runtime/op/tile_map.hpp"
#include "runtime/tensor/layout.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

class OpBuilder;
class GradContext;
class Expr;
class ReferenceContext;
struct OpArgs;

/// What a parameter takes. The first group are operands: each has an input slot, numbered in parameter order.
enum class ParamKind : uint8_t {
  tensor,            ///< a tensor; a number or array beside it becomes a constant of the first tensor operand's dtype
  index,             ///< a tensor of integers (labels, indices); a number or array becomes an int32 constant
  optional_tensor,   ///< a tensor or none
  tensors,           ///< one or more tensors, as a list or as positional arguments; only as the first parameter
  number_or_tensor,  ///< a number is an attribute (its slot stays empty), a tensor an operand
  integer,
  number,
  boolean,
  string,
  dtype,
  shape,     ///< a list of ints; -1 passes through to the op
  axes,      ///< an int, a list of ints, or none for all axes
  integers,  ///< an int or a list of ints, or none
  numbers,   ///< a list of numbers
};

constexpr bool is_operand(ParamKind k) { return k <= ParamKind::number_or_tensor; }

/// A parameter's default, in constant-expression form.
struct Default {
  enum Kind : uint8_t { required, none, boolean, integer, number, string, dtype } kind = required;
  int64_t i = 0;
  double d = 0;
  std::string_view s = {};
};
constexpr Default no_default{};
constexpr Default none_default{Default::none};
constexpr Default of(bool v) { return {Default::boolean, v}; }
constexpr Default of(int v) { return {Default::integer, v}; }
constexpr Default of(double v) { return {Default::number, 0, v}; }
constexpr Default of(const char* v) { return {Default::string, 0, 0, v}; }
constexpr Default of(DType v) { return {Default::dtype, static_cast<int64_t>(v)}; }

struct Param {
  std::string_view name;
  ParamKind kind;
  Default default_value = no_default;
  std::string_view doc = {};
};

/// An attribute's value; monostate is `none`, and what operand parameters hold unless given as a number.
using Attr =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, DType>;
using Attributes = std::vector<Attr>;  ///< parallel to OpRow::params

struct OpRow;

/// An op as inference and kernel selection see it: specs and attributes, no graph.
struct OpContext {
  const OpRow& row;
  std::span<const TensorSpec* const> in;  ///< by slot; null where an optional operand is absent
  const Attributes& attrs;
  std::span<const TensorSpec> out = {};      ///< the inferred outputs; empty while inferring
  std::span<const std::string> labels = {};  ///< names of the operands for messages, by slot; may be empty

  const TensorSpec& input(size_t slot) const { return *in[slot]; }
  bool has(size_t slot) const { return slot < in.size() && in[slot] != nullptr; }
  std::string label(size_t slot) const;

  /// The attribute of a parameter, by name; the typed forms throw an internal error on another type.
  const Attr& attr(std::string_view param) const;
  bool is_none(std::string_view param) const { return std::holds_alternative<std::monostate>(attr(param)); }
  int64_t integer(std::string_view param) const;
  double number(std::string_view param) const;  ///< also from an integer
  bool boolean(std::string_view param) const;
  const std::string& string(std::string_view param) const;
  DType dtype(std::string_view param) const;
  std::vector<int64_t> integers(std::string_view param) const;  ///< an integer counts as a list of one
};

/// What the planner and the evaluator must know of an op's structure; everything else is in its kernel.
enum class Role : uint8_t {
  compute,     ///< inputs to outputs through `kernel`
  composite,   ///< never in a graph: `expand` makes other ops
  call,        ///< runs Op::called[0]
  loop,        ///< runs Op::called[0] n times
  branch,      ///< runs Op::called[0] or [1]
  host_load,   ///< copies the stream's next sample to its output
  host_store,  ///< copies its input to the stream
};

/// Work per element, for fusion and cost: how the output's elements depend on the inputs' ones.
enum class Pattern : uint8_t { elementwise, reduction, product, movement, other };

using InferFn = std::vector<TensorSpec> (*)(const OpContext&);
using KernelFn = Kernel (*)(const OpContext&);
using DefinitionFn = void (*)(ReferenceContext&);
using GradFn = void (*)(GradContext&);
using ExpandFn = std::vector<Expr> (*)(OpBuilder&, const OpArgs&);
/// How the outputs' elements lie in memory where those of input 0 lie as given.
using LayoutFn = std::vector<StridedLayout> (*)(const OpContext&, const StridedLayout&);
/// Where a view's elements lie: element i of `result`, in the memory of output 0, is element i of `operand`, in that of
/// input `slot`. Both have one shape.
struct ViewPart {
  size_t slot = 0;
  StridedLayout operand, result;
};
using ViewFn = std::vector<ViewPart> (*)(const OpContext&);
using ProductFn = GemmShape (*)(const OpContext&);
using FlopsFn = int64_t (*)(const OpContext&);

struct OpRow {
  std::string_view name;           ///< "gelu"; an in-place form ends in "_"
  std::string_view path = {};      ///< PopXL path, "ops.var_updates.accumulate_"; empty: not reachable by users
  std::string_view schedule = {};  ///< what a schedule prints, "Gelu"; empty for a composite
  std::string_view output = {};    ///< default output names, comma separated; "{0}" is the first operand's name
  std::string_view doc;            ///< what it computes, one or two sentences
  std::string_view formula = {};
  std::string_view example = {};  ///< a pxl expression over arrays; run by the op tests
  std::span<const Param> params = {};
  InferFn infer = nullptr;            ///< null only for composites and control ops
  DefinitionFn definition = nullptr;  ///< what it computes, in xtensor (ops/definitions.hpp)
  KernelFn kernel = nullptr;          ///< the same, fast; null: the definition runs
  GradFn gradient = nullptr;          ///< null: no gradient, an error when one is asked for through it
  ExpandFn expand = nullptr;          ///< composites only
  FlopsFn flops = nullptr;            ///< null: one per output element
  LayoutFn layout = nullptr;          ///< of ops that only move elements of input 0; `view` says the same of others
  ProductFn product = nullptr;        ///< of ops that are a matrix product of inputs 0 and 1
  Role role = Role::compute;
  Pattern pattern = Pattern::other;
  uint32_t modifies = 0;          ///< bit i: input slot i is changed in place
  int8_t alias = -1;              ///< output 0 is the same memory as this input slot
  bool inplace_ok = false;        ///< a kernel may write output 0 over input 0 (same spec)
  bool view = false;              ///< output 0 has the bytes of input 0, in its order
  ViewFn parts = nullptr;         ///< of aliases that `view` and `layout` do not describe: which elements of which
                                  ///< inputs the output is; every input in it shares the output's memory
  bool side_effect = false;       ///< never removed
  bool method = false;            ///< also a method of tensors and arrays
  std::string_view inplace = {};  ///< name of the in-place form
  std::string_view onnx = {};     ///< ONNX operator with the same meaning
  TileMap tiles = {};             ///< how it maps to tiles; composites have none
};

/// Input slots of a row with fixed operands (a variadic row has as many as it is given).
size_t slot_count(const OpRow& row);
bool is_variadic(const OpRow& row);
/// Whether output 0 is a view of its operands: their memory, under another shape or in another order, and unchanged.
constexpr bool is_view(const OpRow& row) { return row.alias >= 0 && row.modifies == 0 && row.role == Role::compute; }
/// Index in row.params of a parameter; throws an internal error if there is none of that name.
size_t param_index(const OpRow& row, std::string_view param);
/// Slot of an operand parameter.
size_t slot_of(const OpRow& row, std::string_view param);

}  // namespace pxl
