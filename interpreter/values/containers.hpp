// The ordinary objects of the language: strings, sequences, dicts, ranges, slices, dtypes, specs, arrays.
#pragma once

#include <unordered_map>

#include "interpreter/values/value.hpp"
#include "runtime/base/effects.hpp"

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
  std::function<void()> state() override;
  std::vector<std::pair<Value, Value>> items;

 private:
  std::unordered_map<std::string, size_t> where_;
};

struct RangeObject final : Object {
  int64_t start, stop, step;
  RangeObject(int64_t a, int64_t b, int64_t s) : start(a), stop(b), step(s) {}
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
  Value index(Interpreter&, const Value&) override;  ///< a spec: float32[8, 784]
  bool callable() const override { return true; }
  Value call(Interpreter&, Arguments) override;  ///< float32(x): a number or array converted
  bool equals(Interpreter&, const Value&) override;
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

/// What a look does with a function whose effects it does not permit.
enum class InLook : uint8_t {
  passed_over,  ///< its arguments are checked against its signature, and its result is unknown (none if it only prints)
  calls_body,   ///< its body checks `permits`, and returns what is known of the result
};

/// A function written in C++. A look at a program calls it only if all of its effects are permitted.
struct BuiltinObject final : Object {
  using Body = std::function<Value(Interpreter&, Arguments)>;
  Effects effects;
  std::string name;
  std::string signature;  ///< "range(start, stop = none, step = 1)"
  std::string doc;
  Body body;
  InLook in_look;
  BuiltinObject(Effects e, std::string n, std::string s, std::string d, Body b, InLook l = InLook::passed_over)
      : effects(e), name(std::move(n)), signature(std::move(s)), doc(std::move(d)), body(std::move(b)), in_look(l) {}
  std::string type_name() const override { return "function"; }
  std::string repr(Interpreter&) override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;

  /// How a look treats unknown arguments: an op is added to the graph, a method may have changed its object.
  enum class Kind : uint8_t { function, method, op } kind = Kind::function;

 private:
  Value look_at_call(Interpreter& in, Arguments args);
};

Value make_list(std::vector<Value> items);
Value make_tuple(std::vector<Value> items);
/// A method bound to its object: effects, name and body.
Value make_method(Effects effects, std::string name, BuiltinObject::Body body, InLook in_look = InLook::passed_over);

/// Reads arguments against a list of parameter names: used by C++ functions to accept names and defaults. Throws Error
/// for unknown (with a suggestion), missing and surplus arguments, naming the function.
class ArgReader {
 public:
  ArgReader(std::string function, const Arguments& args, std::vector<std::string> parameters);
  bool has(std::string_view name) const;     ///< given and not none
  Value value(std::string_view name) const;  ///< required
  Value value_or(std::string_view name, Value fallback) const;
  int64_t integer(std::string_view name) const;
  int64_t integer_or(std::string_view name, int64_t fallback) const;
  double number_or(std::string_view name, double fallback) const;
  bool boolean_or(std::string_view name, bool fallback) const;
  std::string string(std::string_view name) const;
  std::string string_or(std::string_view name, std::string fallback) const;
  Shape shape(std::string_view name) const;  ///< an int or a list or tuple of ints

 private:
  std::string function_;
  std::vector<std::string> parameters_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace pxl
