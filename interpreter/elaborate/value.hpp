// Host values. Small ones are held in place; everything else is an Object behind a shared pointer, and each kind of
// object is one class that answers the questions below. The evaluator asks; it does not switch on kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/codes.hpp"
#include "runtime/base/diagnostic.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

class Interpreter;
class Object;
using ObjectPtr = std::shared_ptr<Object>;

class Value {
 public:
  Value() = default;  ///< none
  Value(bool v) : v_(v) {}
  Value(int v) : v_(int64_t{v}) {}
  Value(int64_t v) : v_(v) {}
  Value(double v) : v_(v) {}
  Value(std::string v);
  Value(std::string_view v);
  Value(const char* v);
  Value(DType v);
  Value(TensorSpec v);
  Value(Array v);
  Value(ObjectPtr v) : v_(std::move(v)) {}
  template <class T>
  requires std::derived_from<T, Object> Value(std::shared_ptr<T> v) : v_(ObjectPtr(std::move(v))) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(v_); }
  bool is_bool() const { return std::holds_alternative<bool>(v_); }
  bool is_int() const { return std::holds_alternative<int64_t>(v_); }
  bool is_float() const { return std::holds_alternative<double>(v_); }
  bool is_number() const { return is_bool() || is_int() || is_float(); }
  bool is_object() const { return std::holds_alternative<ObjectPtr>(v_); }

  bool as_bool() const { return std::get<bool>(v_); }
  int64_t as_int() const { return is_bool() ? as_bool() : std::get<int64_t>(v_); }  ///< of a bool or an int
  double as_double() const {
    return is_float() ? std::get<double>(v_) : static_cast<double>(as_int());
  }  ///< of a number
  const ObjectPtr& object() const { return std::get<ObjectPtr>(v_); }

  /// The object as a T, or null.
  template <class T>
  T* as() const {
    const ObjectPtr* p = std::get_if<ObjectPtr>(&v_);
    return p ? dynamic_cast<T*>(p->get()) : nullptr;
  }
  template <class T>
  std::shared_ptr<T> ptr() const {
    const ObjectPtr* p = std::get_if<ObjectPtr>(&v_);
    return p ? std::dynamic_pointer_cast<T>(*p) : nullptr;
  }
  const std::string* as_string() const;
  const Array* as_array() const;
  const DType* as_dtype() const;
  const TensorSpec* as_spec() const;

  /// "int", "str", "tensor": the kind as messages name it.
  std::string type_name() const;

 private:
  std::variant<std::monostate, bool, int64_t, double, ObjectPtr> v_;
};

struct NamedArg {
  std::string name;
  Value value;
  Span span;
};
/// The arguments of a call, as written.
struct Arguments {
  Span span;  ///< of the whole call
  std::vector<Value> positional;
  std::vector<Span> spans;  ///< parallel to positional; may be empty when called from C++
  std::vector<NamedArg> named;
};

/// Pulls the next element; nothing at the end.
using Iterator = std::function<std::optional<Value>()>;

/// The base of all objects. The defaults refuse with an error that names the type.
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  /// As `print` shows it (str), and as it appears inside containers (repr).
  virtual std::string str(Interpreter& in) { return repr(in); }
  virtual std::string repr(Interpreter& in);
  /// A member, or nothing where there is none of that name.
  virtual std::optional<Value> member(Interpreter& in, std::string_view name);
  /// Names for completion and suggestions.
  virtual std::vector<std::string> member_names() const { return {}; }
  virtual void set_member(Interpreter& in, std::string_view name, Value value);
  virtual bool callable() const { return false; }
  virtual Value call(Interpreter& in, Arguments args);
  /// `base[key]`; several subscripts arrive as a tuple, slices as SliceObject.
  virtual Value index(Interpreter& in, const Value& key);
  virtual void set_index(Interpreter& in, const Value& key, Value value);
  virtual std::optional<int64_t> length(Interpreter&) { return std::nullopt; }
  virtual std::optional<Iterator> iterate(Interpreter&) { return std::nullopt; }
  virtual bool contains(Interpreter& in, const Value& item);
  virtual bool truth(Interpreter& in);
  /// `==` between containers and the like; identity unless said otherwise.
  virtual bool equals(Interpreter& in, const Value& other);
  /// Key of dicts: equal values have equal keys. Nothing: not usable as a key.
  virtual std::optional<std::string> hash_key() const;
  /// `with` contexts: enter gives the `as` value. `failed` says that an exception is passing through.
  virtual bool is_context() const { return false; }
  virtual Value enter(Interpreter& in);
  virtual void leave(Interpreter&, bool /*failed*/) {}

  /// To be called before the object's own state changes, by every kind of object that has some: an input that is
  /// taken back (undo.hpp) puts the state back. Costs a comparison where nothing is recorded.
  void changing() {
    if (era_ < recording_era) record_state();
  }
  /// Puts the present state back when called; nothing for objects that never change.
  virtual std::function<void()> state() { return {}; }
  /// The number of the input that is being recorded; 0 while none is.
  static inline uint64_t recording_era = 0;
  /// Grows with each input: objects made in an input need no record in it.
  static inline uint64_t latest_era = 0;

 private:
  void record_state();
  uint64_t era_ = latest_era;
};

/// Throws an Error "expected X, got Y" style message with no span (the evaluator locates it).
[[noreturn]] void type_error(const std::string& what, std::string_view code = codes::type);

}  // namespace pxl
