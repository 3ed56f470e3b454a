// Tensors and streams as values.
#include "interpreter/graphs/graph_values.hpp"

#include "interpreter/graphs/graphs.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/graphs/tensor_index.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

Value tensor_value(std::shared_ptr<Ir> ir, Tensor* tensor) {
  return std::make_shared<TensorObject>(std::move(ir), tensor);
}

Tensor* as_tensor(const Value& v) {
  auto* t = v.as<TensorObject>();
  return t ? t->tensor : nullptr;
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

std::optional<Value> TensorObject::member(Interpreter& in, std::string_view name) {
  const TensorSpec& spec = tensor->spec;
  if (name == "shape") return shape_value(spec.shape);
  if (name == "dtype") return Value(spec.dtype);
  if (name == "spec") return Value(spec);
  if (name == "name") return Value(tensor->name);
  if (name == "id") return Value(tensor->id);
  if (name == "rank" || name == "ndim") return Value(static_cast<int64_t>(spec.shape.size()));
  if (name == "nelms" || name == "size") return Value(spec.size());
  if (name == "meta_shape") return shape_value(spec.meta_shape);
  if (name == "by_ref") return Value(tensor->by_ref);
  if (name == "ir") return ir_value(in, ir);
  if (name == "graph") return graph_value(ir, tensor->graph);
  if (name == "ipu") {
    std::optional<int> ipu = tensor->ipu();
    if (!ipu)
      throw Error("tensor `" + tensor->name + "` has no ipu: no op on an ipu makes it").as(codes::unknown_member);
    return Value(static_cast<int64_t>(*ipu));
  }
  if (name == "T") {
    const std::optional<Value> transpose = op_method(Value(shared_from_this()), "transpose");
    if (!transpose) return std::nullopt;
    return invoke(in, *transpose, std::vector<Value>{});
  }
  return op_method(Value(shared_from_this()), name);
}

std::vector<std::string> TensorObject::member_names() const {
  std::vector<std::string> names = op_method_names();
  names.insert(names.end(), {"shape", "dtype", "spec", "name", "id", "rank", "ndim", "nelms", "size", "meta_shape",
                             "by_ref", "ir", "graph", "ipu", "T"});
  return names;
}

Value TensorObject::index(Interpreter& in, const Value& key) {
  return tensor_index(in, Value(shared_from_this()), key);
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
  const TensorSpec& spec = stream->spec();
  if (name == "name") return Value(stream->name());
  if (name == "tensor_id" || name == "id") return Value(stream->handle->id);
  if (name == "shape") return shape_value(spec.shape);
  if (name == "dtype") return Value(spec.dtype);
  if (name == "spec") return Value(spec);
  if (name == "ir") return ir_value(in, ir);
  if (name == "to_device") return Value(stream->to_device);
  return std::nullopt;
}

std::vector<std::string> StreamObject::member_names() const {
  return {"name", "tensor_id", "id", "shape", "dtype", "spec", "ir", "to_device"};
}

bool StreamObject::equals(Interpreter&, const Value& other) {
  auto* s = other.as<StreamObject>();
  return s && s->stream == stream;
}
std::optional<std::string> StreamObject::hash_key() const { return pointer_key('h', stream); }

}  // namespace pxl
