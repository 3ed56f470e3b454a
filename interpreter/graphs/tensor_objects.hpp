// Host values that denote parts of a graph. Each value keeps its Ir alive.
#pragma once

#include "interpreter/values/containers.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// A tensor. Two objects that denote one tensor are the same value: `is`, dict keys and `in` compare the tensor.
struct TensorObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::tensor;
  std::shared_ptr<Ir> ir;
  Tensor* tensor;
  TensorObject(std::shared_ptr<Ir> i, Tensor* t) : ir(std::move(i)), tensor(t) {}
  std::string type_name() const override { return "tensor"; }
  std::string repr(Interpreter&) override;  ///< Tensor[fc1/weight float32 (784, 512)]
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;
  void set_index(Interpreter&, const Value&, Value) override;  ///< always refuses
  std::optional<int64_t> length(Interpreter&) override;
  std::optional<Iterator> iterate(Interpreter&) override;  ///< refuses: not iterable
  bool truth(Interpreter&) override;                       ///< refuses, pointing to where and conditional
  bool equals(Interpreter&, const Value&) override;
  bool is_handle() const override { return true; }
  std::optional<TensorSpec> spec_in_graph() const override { return tensor->spec; }
  void check_has_elements() const override;
  std::optional<std::string> hash_key() const override;
};

Value tensor_value(std::shared_ptr<Ir> ir, Tensor* tensor);
/// The tensor that a value denotes, or null. An output stream denotes the tensor that was last stored.
Tensor* as_tensor(const Value& v);

struct StreamObject final : Object {
  std::shared_ptr<Ir> ir;
  Stream* stream;
  StreamObject(std::shared_ptr<Ir> i, Stream* s) : ir(std::move(i)), stream(s) {}
  /// The tensor that was last stored to the stream, which acts as that tensor. Null if there is none.
  Tensor* stored() const;
  std::string type_name() const override { return "stream"; }
  std::string repr(Interpreter&) override;  ///< HostToDeviceStream[image float32 (8, 28, 28)]
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;
  bool equals(Interpreter&, const Value&) override;
  bool is_handle() const override { return true; }
  std::optional<TensorSpec> spec_in_graph() const override { return stream->spec(); }
  std::string note_on_missing(std::string_view) const override { return note_on_misuse(); }
  std::string note_on_misuse() const override;
  std::optional<std::string> hash_key() const override;
};

/// A stream, or the first leaf of a tree, if that is a stream; else null.
const StreamObject* first_stream(const Value& v);

/// Draws a new value each time: `normal(0, 0.02)`, `zeros`, `xavier_uniform()` as an initialiser.
struct InitialiserObject final : Object {
  std::string text;  ///< source text, for repr
  std::function<Array(Interpreter&, const TensorSpec&)> draw;
  /// Replaces `draw` if the value depends on the variable's name and draws no random numbers.
  std::function<Array(Interpreter&, const TensorSpec&, const std::string&)> of_name;
  std::string type_name() const override { return "initialiser"; }
  std::string repr(Interpreter&) override { return text; }
};

}  // namespace pxl
