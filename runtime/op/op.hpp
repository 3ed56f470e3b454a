// The row of an op: its columns, and an op's specs and attributes without a graph. Each op is declared once, as an
// OpRow in a table; the interpreter, help, autodiff, planner, tile model, docs and tests read the row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/kernels/gemm/matmul.hpp"
#include "runtime/kernels/kernel.hpp"
#include "runtime/op/tile_map.hpp"
#include "runtime/op/tolerance.hpp"
#include "runtime/tensor/layout.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

class Array;
class OpBuilder;
class GradContext;
class Expr;
class ReferenceContext;
struct OpArgs;

/// Kind of a parameter. The first group are operands, which have input slots, numbered in parameter order.
enum class ParamKind : uint8_t {
  tensor,            ///< a tensor; a number or array becomes a constant with the dtype of the first tensor operand
  own_tensor,        ///< a tensor beside others of other dtypes (weights, their scales); an array keeps its dtype
  index,             ///< an integer tensor (labels, indices); a number or array becomes an int32 constant
  optional_tensor,   ///< a tensor or none
  tensors,           ///< one or more tensors, as a list or as positional arguments; only as the first parameter
  number_or_tensor,  ///< a number is an attribute (its slot stays empty); a tensor is an operand
  integer,
  number,   ///< within the range in which the op computes: of float64 for float64, else of float32
  element,  ///< a number as one element more of operand 0: rounded to nearest in its dtype, within its range
  boolean,
  string,
  dtype,
  shape,     ///< a list of ints; -1 is passed to the op
  axes,      ///< an int, a list of ints, or none for all axes
  integers,  ///< an int or a list of ints, or none
  numbers,   ///< a list of numbers
  group,     ///< groups of replicas, as the number of its group for each replica; none: all replicas are one group
};

constexpr bool is_operand(ParamKind k) { return k <= ParamKind::number_or_tensor; }

/// A parameter's default, as a constant expression.
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

using AttrVariant =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, DType>;
/// Value of an attribute; monostate is `none`, also for operand parameters unless given as a number. A class for its
/// special members, which are compiled once: attributes are copied everywhere.
class Attr : public AttrVariant {
 public:
  using AttrVariant::AttrVariant;
  Attr();
  Attr(const Attr&);
  Attr(Attr&&) noexcept;
  Attr& operator=(const Attr&);
  Attr& operator=(Attr&&) noexcept;
  ~Attr();
};
using Attributes = std::vector<Attr>;  ///< parallel to OpRow::params
/// The value of a default; none for a required parameter.
Attr attribute(const Default& value);

struct OpRow;

/// The context of inference and kernel selection: an op's specs and attributes, without a graph.
struct OpContext {
  const OpRow& row;
  std::span<const TensorSpec* const> in;  ///< by slot; null for an absent optional operand
  const Attributes& attrs;
  std::span<const TensorSpec> out = {};  ///< inferred outputs; empty during inference
  /// The name of an operand for messages; null: those of the parameters. `named` is what it is asked of.
  std::string (*name_of)(const void* named, size_t slot) = nullptr;
  const void* named = nullptr;

  const TensorSpec& input(size_t slot) const { return *in[slot]; }
  bool has(size_t slot) const { return slot < in.size() && in[slot] != nullptr; }
  std::string label(size_t slot) const;

  /// The attribute of a parameter, by name. The typed accessors throw an internal error for another type.
  const Attr& attr(std::string_view param) const;
  bool is_none(std::string_view param) const { return std::holds_alternative<std::monostate>(attr(param)); }
  int64_t integer(std::string_view param) const;
  double number(std::string_view param) const;  ///< also converts an integer
  /// A parameter of kind `element` as a scalar of this dtype.
  Array element(std::string_view param, DType dtype) const;
  bool boolean(std::string_view param) const;
  const std::string& string(std::string_view param) const;
  DType dtype(std::string_view param) const;
  std::vector<int64_t> integers(std::string_view param) const;  ///< also converts an integer to a list of one
};

/// Structure of an op, as the planner and the engines see it; the rest is in its kernel.
enum class Role : uint8_t {
  compute,       ///< inputs to outputs through `kernel`
  composite,     ///< never in a graph: `expand` replaces it by other ops
  call,          ///< runs Op::called[0]
  loop,          ///< runs Op::called[0] n times
  branch,        ///< runs Op::called[0] or [1]
  host_load,     ///< copies the stream's next sample to its output
  host_store,    ///< copies its input to the stream
  remote_load,   ///< copies an entry of a remote buffer to its output
  remote_store,  ///< copies its input to an entry of a remote buffer
};

/// The operands that a kernel and a definition get besides those of one replica. Inference sees the op's own operands.
enum class Exchange : uint8_t {
  none,
  /// The op is a collective with one operand, and `group` is one of its parameters. Kernel and definition get the
  /// operands of all group members, in ascending order of replicas, and return a result for each.
  members,
  /// They get a further operand, int32[2]: the number of the replica, and how many there are.
  replica,
};

/// How an output element depends on input elements; for fusion and cost models.
enum class Pattern : uint8_t { elementwise, reduction, product, movement, other };

/// How an op works on all elements of a batch at once, with one more axis in front (transform/vectorise.hpp).
enum class Batch : uint8_t {
  pattern,      ///< elementwise ops and views by their pattern; another op runs for one element after the other
  axis,         ///< the axes of parameter `axis` follow the new one; all operands get it
  shape,        ///< parameter `shape` begins with the new axis
  permutation,  ///< the axes of parameter `permutation` follow the new one
  window,       ///< the window of `starts`, `steps`, `sizes` is whole along the new axis
  product,      ///< a matrix product, whose batch axes begin with the new one
  seeds,        ///< draws: each element needs a seed of its own, and runs for one element after the other
};

/// The dtype in which an op computes in a graph of mixed precision (transform/precision/lower.hpp).
enum class Precision : uint8_t {
  pattern,  ///< low for products, follows for elementwise ops and movements, kept for others
  low,      ///< float16 or bfloat16: its operands are rounded
  follows,  ///< the low one if an operand has it, and the others are params, or numbers that have it too
  kept,     ///< the dtype of the given graph: sums, and functions that leave the range of float16
};

/// How the elements of an op's results come, as the planner fuses ops.
enum class ElementOrder : uint8_t {
  whole,        ///< in any order
  in_parts,     ///< in parts, in any order: elementwise members can take each part while it is in cache
  in_order,     ///< one after the other; each may come from any element of the operands
  elementwise,  ///< in order; element i comes from elements i of operands of that size
  prepared,     ///< elementwise, after work on whole operands
};

using InferFn = std::vector<TensorSpec> (*)(const OpContext&);
using KernelFn = Kernel (*)(const OpContext&);
using DefinitionFn = void (*)(ReferenceContext&);
using GradFn = void (*)(GradContext&);
using ExpandFn = std::vector<Expr> (*)(OpBuilder&, const OpArgs&);
/// Strides of the outputs in memory, given those of input 0.
using LayoutFn = std::vector<StridedLayout> (*)(const OpContext&, const StridedLayout&);
/// A part of a view. Element i of `result`, in the memory of output 0, is element i of `operand`, in the memory of
/// input `slot`. Both have the same shape.
struct ViewPart {
  size_t slot = 0;
  StridedLayout operand, result;
};
using ViewFn = std::vector<ViewPart> (*)(const OpContext&);
using ProductFn = GemmShape (*)(const OpContext&);
using FlopsFn = int64_t (*)(const OpContext&);
/// Zeros to which input 0 is added along `axis` at the indices in input 1 (kernels/indexing/index.hpp: gather_shape).
struct ScatterAdd {
  int64_t axis = 0, batch = 0;  ///< axis -1: the op adds no rows
  bool ignore_out_of_range = false;
};
using ElementOrderFn = ElementOrder (*)(const OpContext&);
using ScatterAddFn = ScatterAdd (*)(const OpContext&);

/// The check that an op makes in a run.
struct IndexCheck {
  bool fails = true;       ///< an operand out of range is an error
  int slot = -1;           ///< each element of this operand is in [-extent, extent); -1: another condition
  int64_t extent = 0;      ///< at least 0
  bool from_zero = false;  ///< elements below 0 are out of range too
};
using IndexCheckFn = IndexCheck (*)(const OpContext&);

struct OpRow {
  std::string_view name;           ///< "gelu"; an in-place form ends in "_"
  std::string_view path = {};      ///< PopXL path, "ops.var_updates.accumulate_"; empty: not reachable by users
  std::string_view schedule = {};  ///< name in schedules, "Gelu"; empty for a composite
  std::string_view output = {};    ///< default names of the outputs, comma separated; "{0}" is the first operand's name
  std::string_view doc;            ///< help text: what it computes, in one or two sentences
  std::string_view formula = {};
  std::string_view example = {};  ///< a pxl expression on arrays; the op tests run it
  std::span<const Param> params = {};
  InferFn infer = nullptr;               ///< null only for composites and control ops
  DefinitionFn definition = nullptr;     ///< what it computes, in xtensor (definitions.hpp)
  const Tolerance* tolerance = nullptr;  ///< of `kernel`; null: of the row's pattern (tolerance_of)
  KernelFn kernel = nullptr;             ///< optimised form of the definition; null: the definition runs
  GradFn gradient = nullptr;             ///< null: autodiff through the op is an error
  ExpandFn expand = nullptr;             ///< composites only
  FlopsFn flops = nullptr;               ///< null: one per output element
  LayoutFn layout = nullptr;             ///< for ops that only permute or slice input 0, unless `view` describes them
  ProductFn product = nullptr;           ///< for ops that are a GEMM of inputs 0 and 1
  ScatterAddFn scatter_add = nullptr;    ///< for ops that may be a ScatterAdd
  Role role = Role::compute;
  Pattern pattern = Pattern::other;
  Batch batch = Batch::pattern;              ///< how it carries one more first axis
  Precision precision = Precision::pattern;  ///< its dtype in mixed precision
  ElementOrderFn order = nullptr;            ///< of `kernel` (element_order.hpp); null: that of the pattern
  uint32_t modifies = 0;                     ///< bit i: input slot i is modified in place
  int8_t alias = -1;                         ///< output 0 has the memory of this input slot; -1: none
  bool inplace_ok = false;                   ///< a kernel may write output 0 over input 0 (equal specs)
  bool additive = false;                     ///< output 0 is a x + h(y) of inputs 0 and 1, elementwise, with h(0) = 0
  bool view = false;                         ///< output 0 has the bytes and order of input 0
  ViewFn parts = nullptr;                 ///< for aliases not described by `view` or `layout`: which elements of which
                                          ///< inputs the output consists of; all these inputs share the output's memory
  bool side_effect = false;               ///< never eliminated
  Exchange exchange = Exchange::none;     ///< what its kernel gets besides the operands of one replica
  bool alike = false;                     ///< collectives: all members of a group get the same result
  bool shards = false;                    ///< takes shards, as elementwise ops do (shards.hpp); collectives infer them
  bool method = false;                    ///< also a method of tensors and arrays
  std::string_view inplace = {};          ///< name of the in-place form
  std::string_view onnx = {};             ///< ONNX operator with the same meaning
  IndexCheckFn checks_indices = nullptr;  ///< for ops that fail in a run if an integer operand is out of range
  TileMap tiles = {};                     ///< mapping to tiles; composites have none
};

/// How many input slots a row with fixed operands has (a variadic row has as many as it is given).
size_t slot_count(const OpRow& row);
bool is_variadic(const OpRow& row);
/// Whether the row's op modifies input `slot` in place; no op does so with slots from 32 on.
constexpr bool modifies_slot(const OpRow& row, size_t slot) { return slot < 32 && (row.modifies >> slot & 1U) != 0; }
/// Whether output 0 is a view of operands: their memory unmodified, with another shape or order.
constexpr bool is_view(const OpRow& row) { return row.alias >= 0 && row.modifies == 0 && row.role == Role::compute; }
/// The row's dtype in mixed precision; never `pattern`.
Precision precision_of(const OpRow& row);
/// How far the row's kernel may be from its definition.
Tolerance tolerance_of(const OpRow& row);
/// Index of a parameter in row.params; throws an internal error if there is none.
size_t param_index(const OpRow& row, std::string_view param);
/// Slot of an operand parameter.
size_t slot_of(const OpRow& row, std::string_view param);

}  // namespace pxl
