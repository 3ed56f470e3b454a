// Tensors and streams as values.
#include "interpreter/graphs/tensor_objects.hpp"

#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/ops/tensor_index.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/records.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

Value tensor_value(std::shared_ptr<Ir> ir, Tensor* tensor) { return make_ref<TensorObject>(std::move(ir), tensor); }

const StreamObject* first_stream(const Value& v) {
  constexpr int max_depth = 16;
  const Value* at = &v;
  for (int depth = 0; depth < max_depth; ++depth) {
    if (const auto* stream = at->as<StreamObject>()) return stream;
    const auto* list = at->as<SequenceObject>();
    const auto* dict = at->as<DictObject>();
    const auto* tree = at->as<TreeObject>();
    const auto* record = at->as<RecordObject>();
    const auto* gradients = at->as<GradientsObject>();
    if (list && !list->items.empty())
      at = &list->items.front();
    else if (tree && !tree->items.empty())
      at = &tree->items.front().second;
    else if (dict && !dict->items.empty())
      at = &dict->items.front().second;
    else if (record && !record->values.empty())
      at = &record->values.front();
    else if (gradients && !gradients->gradients.empty())
      at = &gradients->gradients.front();
    else
      return nullptr;
  }
  return nullptr;
}

Tensor* StreamObject::stored() const {
  if (stream->to_device) return nullptr;
  const Op* last = nullptr;
  for (const auto& graph : ir->graphs())
    for (const auto& op : graph->ops())
      if (op->stream == stream && (!last || op->id > last->id)) last = op.get();
  return last ? last->inputs[0] : nullptr;
}

Tensor* as_tensor(const Value& v) {
  if (auto* t = v.as<TensorObject>()) return t->tensor;
  auto* s = v.as<StreamObject>();
  return s ? s->stored() : nullptr;
}

static Value shape_value(const Shape& shape) {
  std::vector<Value> items(shape.begin(), shape.end());
  return make_tuple(std::move(items));
}

static std::string pointer_key(char kind, const void* p) {
  return kind + std::to_string(reinterpret_cast<uintptr_t>(p));
}

// ---- tensors

std::string TensorObject::repr(Interpreter&) { return text(*tensor); }

namespace {

using In = Interpreter&;
using TensorRef = TensorObject&;
using Got = std::optional<Value>;
constexpr Member<TensorObject>::Get tensor_rank = [](In, TensorRef t) -> Got {
  return Value(static_cast<int64_t>(t.tensor->spec.shape.size()));
};
constexpr Member<TensorObject>::Get tensor_size = [](In, TensorRef t) -> Got { return Value(t.tensor->spec.size()); };
constexpr Member<TensorObject> tensor_rows[] = {
    {"shape", "The extents, as a tuple of ints.", "w.shape",
     [](In, TensorRef t) -> Got { return shape_value(t.tensor->spec.shape); }},
    {"dtype", "The dtype of the elements.", "w.dtype",
     [](In, TensorRef t) -> Got { return Value(t.tensor->spec.dtype); }},
    {"spec", "Dtype and shape.", "w.spec", [](In, TensorRef t) -> Got { return Value(t.tensor->spec); }},
    {"name", "The name in its graph.", "w.name", [](In, TensorRef t) -> Got { return Value(t.tensor->name); }},
    {"id", "The name with the scopes around it; no two tensors of a program have the same.", "w.id",
     [](In, TensorRef t) -> Got { return Value(t.tensor->id); }},
    {"rank", "The number of axes.", "w.rank", tensor_rank},
    {"ndim", "The number of axes: rank, by NumPy's name.", "w.ndim", tensor_rank},
    {"nelms", "The number of elements.", "w.nelms", tensor_size},
    {"size", "The number of elements: nelms, by NumPy's name.", "w.size", tensor_size},
    {"meta_shape", "The extents of the whole tensor that a shard is a part of; empty for others.", "w.meta_shape",
     [](In, TensorRef t) -> Got { return shape_value(t.tensor->spec.meta_shape); }},
    {"replica_grouping", "The groups of replicas with values of their own of a variable; none: one value.",
     "w.replica_grouping", [](In, TensorRef t) -> Got { return replica_grouping_value(t.tensor->groups); }},
    {"shard_over", "The groups of replicas that share the parts of a shard; none for a whole tensor.", "w.shard_over",
     [](In, TensorRef t) -> Got { return replica_grouping_value(t.tensor->spec.shard_groups); }},
    {"by_ref", "Whether it is a graph input that calls pass by reference.", "w.by_ref",
     [](In, TensorRef t) -> Got { return Value(t.tensor->by_ref); }},
    {"ir", "The program that the tensor belongs to.", "w.ir",
     [](In in, TensorRef t) -> Got { return ir_value(in, t.ir); }},
    {"graph", "The graph that the tensor belongs to.", "w.graph",
     [](In, TensorRef t) -> Got { return graph_value(t.ir, t.tensor->graph); }},
    {"ipu", "The IPU that the op is placed on whose output it is.", "",
     [](In, TensorRef t) -> Got {
       const std::optional<int> ipu = t.tensor->ipu();
       if (!ipu)
         throw Error("tensor `" + shown_name(*t.tensor) + "` has no ipu: no op on an ipu makes it")
             .as(codes::unknown_member);
       return Value(static_cast<int64_t>(*ipu));
     }},
    {"T", "The tensor with its axes in reverse order: transpose without a permutation.", "w.T",
     [](In in, TensorRef t) -> Got {
       const std::optional<Value> transpose = op_method(Value(t.shared_from_this()), "transpose");
       if (!transpose) return std::nullopt;
       return invoke(in, *transpose);
     }},
};
constexpr std::span<const Member<TensorObject>> tensor_table(tensor_rows);

using StreamRef = StreamObject&;
constexpr Member<StreamObject>::Get stream_id = [](In, StreamRef s) -> Got { return Value(s.stream->handle->id); };
constexpr Member<StreamObject> stream_rows[] = {
    {"name", "The name, as runs of a session take it.", "x.name",
     [](In, StreamRef s) -> Got { return Value(s.stream->name()); }},
    {"tensor_id", "The id of the tensor that is transferred.", "x.tensor_id", stream_id},
    {"id", "The id of the tensor that is transferred: tensor_id, in short.", "x.id", stream_id},
    {"shape", "The extents of one transfer, as a tuple of ints.", "x.shape",
     [](In, StreamRef s) -> Got { return shape_value(s.stream->spec().shape); }},
    {"dtype", "The dtype of the elements.", "x.dtype",
     [](In, StreamRef s) -> Got { return Value(s.stream->spec().dtype); }},
    {"spec", "Dtype and shape of one transfer.", "x.spec",
     [](In, StreamRef s) -> Got { return Value(s.stream->spec()); }},
    {"ir", "The program that the stream belongs to.", "x.ir",
     [](In in, StreamRef s) -> Got { return ir_value(in, s.ir); }},
    {"to_device", "Whether the stream goes in, from the host to the device.", "x.to_device",
     [](In, StreamRef s) -> Got { return Value(s.stream->to_device); }},
};
constexpr std::span<const Member<StreamObject>> stream_table(stream_rows);

}  // namespace

MemberTable tensor_members() {
  return member_table(
      "tensor",
      "A node of a graph: what an op makes, a variable, a constant, an input. It has elements only while "
      "a session runs. Most ops are methods as well: `t.sum(axis = 0)`.",
      "w = variable([[1.0, 2.0, 3.0]], name = 'w')", tensor_table);
}
MemberTable stream_members() {
  return member_table("stream", "The way of arrays from the host to the device, or back: `stream in`, `stream out`.",
                      "stream in x: float32[2, 3]", stream_table);
}

std::optional<Value> TensorObject::member(Interpreter& in, std::string_view name) {
  if (std::optional<Value> found = member_of_table(in, tensor_table, *this, name)) return found;
  return op_method(Value(shared_from_this()), name);
}

std::vector<std::string> TensorObject::member_names() const {
  std::vector<std::string> names = op_method_names();
  append_names(names, tensor_table);
  return names;
}

Value TensorObject::index(Interpreter& in, const Value& key) {
  return tensor_index(in, Value(shared_from_this()), key);
}

void TensorObject::set_index(Interpreter&, const Value&, Value) {
  throw Error("a tensor does not take assignments to its elements",
              {"`where(condition, a, b)` and `dynamic_update(t, i, part, [0], [n])` make a changed copy, "
               "`copy_var_update_(slice_(t, 0, n), part)` changes a variable"})
      .as(codes::type);
}

std::optional<int64_t> TensorObject::length(Interpreter&) {
  if (tensor->spec.shape.empty()) throw Error("a tensor of shape [] has no length").as(codes::shape);
  return tensor->spec.shape[0];
}

std::optional<Iterator> TensorObject::iterate(Interpreter&) {
  throw Error("a tensor is not iterable: its values exist only when a session runs",
              {"index it, `t[i]` for i in range(t.shape[0]), or use `split`"})
      .as(codes::no_value_yet);
}

bool TensorObject::truth(Interpreter&) {
  throw Error("a tensor has no truth value: its values exist only when a session runs",
              {"`where(condition, a, b)` chooses element by element, `conditional` runs one of two graphs"})
      .as(codes::no_value_yet);
}

bool TensorObject::equals(Interpreter&, const Value& other) { return as_tensor(other) == tensor; }
void TensorObject::check_has_elements() const {
  throw Error("a tensor cannot become an array while the graph is built: its values exist only when a session runs",
              {"`eval(t)` gives a tensor's value, `session.get_tensor_data(t)` a variable's"})
      .as(codes::no_value_yet);
}
std::optional<std::string> TensorObject::hash_key() const { return pointer_key('t', tensor); }

// ---- streams

std::string StreamObject::repr(Interpreter&) {
  return std::string(stream->to_device ? "HostToDeviceStream" : "DeviceToHostStream") + "[" + stream->name() + " " +
         std::string(name(stream->spec().dtype)) + " " + tuple_text(stream->spec().shape) + "]";
}

std::optional<Value> StreamObject::member(Interpreter& in, std::string_view name) {
  if (std::optional<Value> found = member_of_table(in, stream_table, *this, name)) return found;
  Tensor* t = stored();
  return t ? tensor_value(ir, t).object()->member(in, name) : std::nullopt;
}

Value StreamObject::index(Interpreter& in, const Value& key) {
  Tensor* t = stored();
  return t ? tensor_index(in, tensor_value(ir, t), key) : Object::index(in, key);
}

std::vector<std::string> StreamObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, stream_table);
  return names;
}

std::string StreamObject::note_on_misuse() const {
  return stream->to_device ? "`host_load(" + stream->name() + ")` gives the tensor, the stream's next sample"
                           : "a `stream out` is written only: `host_store(" + stream->name() + ", tensor)`";
}

bool StreamObject::equals(Interpreter&, const Value& other) {
  auto* s = other.as<StreamObject>();
  return s && s->stream == stream;
}
std::optional<std::string> StreamObject::hash_key() const { return pointer_key('h', stream); }

}  // namespace pxl
