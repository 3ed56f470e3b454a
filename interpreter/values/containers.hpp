// The ordinary objects of the language: strings, sequences, dicts, ranges, slices, dtypes, specs, arrays.
#pragma once

#include <unordered_map>

#include "interpreter/values/value.hpp"

namespace pxl {

struct StringObject final : Object {
  std::string value;
  explicit StringObject(std::string v) : value(std::move(v)) {}
  std::string type_name() const override { return "str"; }
  std::string str(Interpreter&) override { return value; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;
  std::optional<int64_t> length(Interpreter&) override;
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override { return !value.empty(); }
  bool equals(Interpreter&, const Value&) override;
  std::optional<std::string> hash_key() const override;
};

/// Lists (mutable) and tuples.
struct SequenceObject : Object {
  std::vector<Value> items;
  SequenceObject() = default;
  explicit SequenceObject(std::vector<Value> v) : items(std::move(v)) {}
  ~SequenceObject() override;  ///< frees nested containers without recursion
  Value index(Interpreter&, const Value&) override;
  std::optional<int64_t> length(Interpreter&) override { return static_cast<int64_t>(items.size()); }
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override { return !items.empty(); }
  bool equals(Interpreter&, const Value&) override;
  void references(References& to) const override;
};
struct ListObject final : SequenceObject {
  using SequenceObject::SequenceObject;
  std::string type_name() const override { return "list"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  void set_index(Interpreter&, const Value&, Value) override;
  std::function<void()> state() override;
};
struct TupleObject final : SequenceObject {
  using SequenceObject::SequenceObject;
  std::string type_name() const override { return "tuple"; }
  std::string repr(Interpreter&) override;
  std::optional<std::string> hash_key() const override;
};

/// Insertion-ordered. Keys: none, bools, numbers, strings, tuples, and objects by identity (tensors, streams).
struct DictObject final : Object {
  ~DictObject() override;
  std::string type_name() const override { return "dict"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;
  void set_index(Interpreter&, const Value&, Value) override;
  std::optional<int64_t> length(Interpreter&) override { return static_cast<int64_t>(items.size()); }
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override { return !items.empty(); }
  bool equals(Interpreter&, const Value&) override;

  const Value* find(const Value& key) const;
  void put(const Value& key, Value value);  ///< throws for an unhashable key
  bool erase(const Value& key);
  void clear();
  std::function<void()> state() override;
  void references(References& to) const override;
  std::vector<std::pair<Value, Value>> items;

 private:
  std::unordered_map<std::string, size_t> where_;
};

struct RangeObject final : Object {
  int64_t start, stop, step;
  RangeObject(int64_t a, int64_t b, int64_t s) : start(a), stop(b), step(s) {}
  /// Element i, from 0 to below the length: the product fits, since the element is between start and stop.
  int64_t at(int64_t i) const {
    return static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(step));
  }
  std::string type_name() const override { return "range"; }
  std::string repr(Interpreter&) override;
  Value index(Interpreter&, const Value&) override;
  std::optional<int64_t> length(Interpreter&) override;
  std::optional<Iterator> iterate(Interpreter&) override;
  bool contains(Interpreter&, const Value&) override;
  bool truth(Interpreter&) override;
  bool equals(Interpreter&, const Value&) override;
};

struct SliceObject final : Object {
  Value start, stop, step;
  SliceObject(Value a, Value b, Value s) : start(std::move(a)), stop(std::move(b)), step(std::move(s)) {}
  std::string type_name() const override { return "slice"; }
};
struct EllipsisObject final : Object {
  std::string type_name() const override { return "ellipsis"; }
};

struct DTypeObject final : Object {
  DType value;
  explicit DTypeObject(DType v) : value(v) {}
  std::string type_name() const override { return "dtype"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;  ///< a spec: float32[8, 784]
  bool callable() const override { return true; }
  Value call(Interpreter&, Arguments) override;  ///< float32(x): a number or array converted
  bool equals(Interpreter&, const Value&) override;
  bool is_handle() const override { return true; }
  std::optional<std::string> hash_key() const override;
};
struct SpecObject final : Object {
  TensorSpec value;
  explicit SpecObject(TensorSpec v) : value(std::move(v)) {}
  std::string type_name() const override { return "spec"; }
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  bool equals(Interpreter&, const Value&) override;
  std::optional<std::string> hash_key() const override;
};

/// A host n-d array. Methods are the op table's (a.reshape(...), a.mean()) plus T, shape, dtype, tolist, ...
struct ArrayObject final : Object {
  Array value;
  explicit ArrayObject(Array v) : value(std::move(v)) {}
  std::string type_name() const override { return "array"; }
  std::string str(Interpreter&) override;
  std::string repr(Interpreter&) override;
  std::optional<Value> member(Interpreter&, std::string_view) override;
  std::vector<std::string> member_names() const override;
  Value index(Interpreter&, const Value&) override;
  void set_index(Interpreter&, const Value&, Value) override;
  std::optional<int64_t> length(Interpreter&) override;
  std::optional<Iterator> iterate(Interpreter&) override;
  bool truth(Interpreter&) override;
  std::function<void()> state() override;
};

/// Lists and tuples: the only kinds of sequences.
template <>
inline SequenceObject* object_as<SequenceObject>(Object* o) {
  if (!o) return nullptr;
  const std::type_info& type = typeid(*o);
  return &type == &typeid(ListObject) || &type == &typeid(TupleObject) ? static_cast<SequenceObject*>(o) : nullptr;
}

Value make_list(std::vector<Value> items);
Value make_tuple(std::vector<Value> items);
/// The key of a dict: equal values have equal keys (1, 1.0 and true are one key); nullopt if `v` cannot be a key.
std::optional<std::string> key_of(const Value& v);

}  // namespace pxl
