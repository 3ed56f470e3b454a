// Host values. Small values are stored in place. Every other value is an Object, held by a counted pointer. Each kind
// of object is one class that implements the operations below; the evaluator does not switch on kinds.
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "interpreter/values/ref.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

class Interpreter;
class Object;
class References;  // cycles.hpp
using ObjectPtr = Ref<Object>;

/// The classes that a Value recognises without reading its object: T::class_tag is the tag of a class T.
enum class ClassTag : uint8_t {
  none,
  text,
  list,
  tuple,
  dict,
  range,
  slice,
  array,
  tensor,
  function,
  builtin,
  instance,
  method,
  unknown,
  record
};
template <class T>
concept Tagged = requires {
  T::class_tag;
};

class Value {
 public:
  Value() : bits_(0) {}
  Value(bool v) : kind_(Kind::boolean), bits_(v) {}
  Value(int v) : Value(int64_t{v}) {}
  Value(int64_t v) : kind_(Kind::integer), bits_(static_cast<uint64_t>(v)) {}
  Value(double v) : kind_(Kind::floating), bits_(std::bit_cast<uint64_t>(v)) {}
  /// An int from 0 to 2^64 - 1: elements of uint64 may exceed other ints. Ints from 2^63 on can be read, compared and
  /// stored. Arithmetic refuses them.
  static Value natural(uint64_t v);
  Value(std::string v);
  Value(std::string_view v);
  Value(const char* v);
  Value(DType v);
  Value(TensorSpec v);
  Value(Array v);
  /// A null pointer makes none.
  Value(ObjectPtr v) : kind_(v ? kind_of(RefCounts::of(v.get()).tag) : Kind::none), object_(std::move(v)) {}
  template <class T>
  requires std::derived_from<T, Object> Value(Ref<T> v) : Value(ObjectPtr(std::move(v))) {}

  PXL_INLINE Value(const Value& other) : kind_(other.kind_) {
    if (is_object())
      new (&object_) ObjectPtr(other.present());
    else
      bits_ = other.bits_;
  }
  PXL_INLINE Value(Value&& other) noexcept { take(other); }
  PXL_INLINE Value& operator=(const Value& other) { return *this = Value(other); }
  PXL_INLINE Value& operator=(Value&& other) noexcept {
    if (is_object())
      replace_object(std::move(other));
    else if (this != &other)
      take(other);
    return *this;
  }
  PXL_INLINE ~Value() {
    if (is_object()) present().~ObjectPtr();
  }

  /// The content of a scope's slot before its name is bound. No other value is unset.
  static Value unset() { return Value(Kind::unset); }
  bool is_unset() const { return kind_ == Kind::unset; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_bool() const { return kind_ == Kind::boolean; }
  bool is_int() const { return kind_ == Kind::integer || kind_ == Kind::natural; }
  bool is_natural() const { return kind_ == Kind::natural; }  ///< whether it is an int from 2^63 on
  bool is_float() const { return kind_ == Kind::floating; }
  bool is_int64() const { return kind_ == Kind::integer; }  ///< whether it is an int below 2^63
  bool is_number() const { return is_bool() || is_int() || is_float(); }
  bool is_object() const { return kind_ >= Kind::object; }
  /// A bit for the kind of this value. An object has the bit of its class if that has a tag.
  uint32_t kind_bit() const { return bit_of(kind_); }
  static constexpr uint32_t kind_bit(ClassTag tag) { return bit_of(kind_of(static_cast<uint8_t>(tag))); }
  static const uint32_t none_kind, bool_kind, int_kinds, float_kind, any_kind;
  bool is_text() const { return kind_ == kind_of(static_cast<uint8_t>(ClassTag::text)); }

  bool as_bool() const {
    if (!is_bool()) wrong_kind();
    return bits_ != 0;
  }
  /// The value of a bool or an int. Throws an error for an int from 2^63 on.
  int64_t as_int() const {
    if (kind_ != Kind::integer && kind_ != Kind::boolean) no_int64();
    return static_cast<int64_t>(bits_);
  }
  /// The value, which must be is_int64.
  int64_t int64() const { return static_cast<int64_t>(bits_); }
  /// The value, which must be is_float.
  double float64() const { return std::bit_cast<double>(bits_); }
  /// The value of an int from 2^63 on.
  uint64_t as_natural() const {
    if (!is_natural()) wrong_kind();
    return bits_;
  }
  /// The value of a number.
  double as_double() const {
    if (is_float()) return std::bit_cast<double>(bits_);
    return is_natural() ? static_cast<double>(bits_) : static_cast<double>(as_int());
  }
  const ObjectPtr& object() const {
    if (!is_object()) wrong_kind();
    return object_;
  }

  /// The object as a T, or null. Final types without a tag are compared by the address of their type_info, since one
  /// binary has all code.
  template <class T>
  PXL_INLINE T* as() const {
    if constexpr (Tagged<T>)
      return kind_ == kind_of(static_cast<uint8_t>(T::class_tag)) ? static_cast<T*>(object_.get()) : nullptr;
    else if constexpr (std::is_final_v<T>)
      return kind_ == Kind::object && object_ && &typeid(object_for<T>(object_)) == &typeid(T)
                 ? static_cast<T*>(object_.get())
                 : nullptr;
    else
      return is_object() ? dynamic_cast<T*>(object_.get()) : nullptr;
  }
  /// The object. Its class is complete at each use of `as`.
  template <class>
  static const auto& object_for(const auto& pointer) {
    return *pointer;
  }
  /// Destroys this value without recursion, so that a chain of a million nested lists does not overflow the stack. The
  /// value is then none.
  PXL_INLINE void bury() noexcept {
    if (!is_object()) return;
    if (RefCounts::decrease_above_one(RefCounts::of(object_.get()).strong))
      object_.release();
    else
      bury_object();
    kind_ = Kind::none;
  }
  template <class T>
  Ref<T> ptr() const {
    T* object = as<T>();
    return object ? Ref<T>::to(object) : nullptr;
  }
  const std::string* as_string() const;
  const Array* as_array() const;
  const DType* as_dtype() const;
  const TensorSpec* as_spec() const;

  /// The kind as messages name it: "int", "str", "tensor".
  std::string type_name() const;

 private:
  /// A kind from `object` on is an object: it is `object` plus the ClassTag of the object's class.
  enum class Kind : uint8_t { unset, none, boolean, integer, natural, floating, object };

  explicit Value(Kind kind) : kind_(kind) {}
  static constexpr Kind kind_of(uint8_t tag) { return static_cast<Kind>(static_cast<uint8_t>(Kind::object) + tag); }
  static constexpr uint32_t bit_of(Kind kind) { return uint32_t{1} << static_cast<uint8_t>(kind); }
  /// The object's pointer, which the compiler then knows not to be null.
  PXL_INLINE const ObjectPtr& present() const {
    if (!object_) __builtin_unreachable();
    return object_;
  }
  void bury_object() noexcept;
  [[noreturn]] static void wrong_kind();
  [[noreturn]] void no_int64() const;
  /// Moves from another value, which becomes none if it was an object. This value must not hold an object.
  PXL_INLINE void take(Value& other) noexcept {
    kind_ = other.kind_;
    if (!is_object()) {
      bits_ = other.bits_;
      return;
    }
    new (&object_) ObjectPtr(std::move(other.object_));
    other.kind_ = Kind::none;
    other.bits_ = 0;
  }
  void replace_object(Value&& other) noexcept {
    if (this == &other) return;
    const Value old(std::move(*this));  // destroyed after the new value is in place
    take(other);
  }

  Kind kind_ = Kind::none;
  union {
    uint64_t bits_;  ///< a bool, an int, or the bits of a float
    ObjectPtr object_;
  };
};
inline constexpr uint32_t Value::none_kind = Value::bit_of(Kind::none);
inline constexpr uint32_t Value::bool_kind = Value::bit_of(Kind::boolean);
inline constexpr uint32_t Value::int_kinds = Value::bit_of(Kind::integer) | Value::bit_of(Kind::natural);
inline constexpr uint32_t Value::float_kind = Value::bit_of(Kind::floating);
inline constexpr uint32_t Value::any_kind = ~uint32_t{0};

}  // namespace pxl

/// Vectors of values allocate memory as objects do.
template <class T>
requires(std::same_as<T, pxl::Value> || std::same_as<T, std::pair<pxl::Value, pxl::Value>>) class std::allocator<T> {
 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  constexpr allocator() noexcept = default;
  template <class U>
  constexpr allocator(const allocator<U>&) noexcept {}
  T* allocate(size_t n) { return static_cast<T*>(pxl::object_memory::take(n * sizeof(T))); }
  void deallocate(T* memory, size_t n) noexcept { pxl::object_memory::give_back(memory, n * sizeof(T)); }
  bool operator==(const allocator&) const = default;
};

namespace pxl {

struct NamedArg {
  std::string name;
  Value value;
  Span span;
};
struct Signature;

/// The arguments of a call, in the order of the text.
struct Arguments {
  Span span;  ///< span of the whole call
  std::vector<Value> positional;
  std::vector<Span> spans;  ///< parallel to positional; may be empty when called from C++
  std::vector<NamedArg> named;
  mutable const Signature* callee = nullptr;  ///< the function in C++ that is called; null if it declares none
};

/// A sequence of elements. Each step is charged, so that iteration is bounded in a look and can be interrupted.
class Iterator {
 public:
  struct Source {
    size_t width = 0;  ///< elements are tuples of so many values, which next_row sets; 0: it cannot
    virtual ~Source() = default;
    virtual bool next(Value& out) = 0;
    virtual bool next_row(Value* /*out*/) { return false; }
    static void* operator new(size_t bytes) { return object_memory::take(bytes); }
    static void operator delete(void* memory, size_t bytes) noexcept { object_memory::give_back(memory, bytes); }
  };
  Iterator() = default;
  explicit Iterator(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  /// `pull` sets the next element and returns true, or returns the next element; The end is false or nullopt.
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, Iterator>) Iterator(F pull)
      : source_(std::make_unique<Pulled<F>>(std::move(pull))) {}
  explicit operator bool() const { return source_ != nullptr; }
  /// Sets the next element; returns false at the end.
  bool next(Value& out) {
    charge(pull_ns);
    return source_->next(out);
  }
  /// The number of values in each element, if next_row can set them; otherwise 0.
  size_t width() const { return source_ ? source_->width : 0; }
  /// Sets the values of the next element without making a tuple. At the end it returns false, and may have set some.
  bool next_row(Value* out) {
    charge(pull_ns);
    return source_->next_row(out);
  }
  std::optional<Value> operator()() {
    std::optional<Value> v(std::in_place);
    if (!next(*v)) v.reset();
    return v;
  }

 private:
  static constexpr int64_t pull_ns = 50;
  template <class F>
  struct Pulled final : Source {
    F pull;
    explicit Pulled(F p) : pull(std::move(p)) {}
    bool next(Value& out) override {
      if constexpr (std::is_invocable_r_v<bool, F&, Value&>) {
        return pull(out);
      } else {
        std::optional<Value> v = pull();
        if (!v) return false;
        out = *std::move(v);
        return true;
      }
    }
  };
  std::unique_ptr<Source> source_;
};

/// A method written in C++, called without an object that binds it. `row` has static storage duration.
struct Method {
  const void* row = nullptr;
  Value (*call)(const void* row, Interpreter& in, Object& self, const Arguments& args) = nullptr;
  /// The form for positional values only, from `direct_min` to `direct_max` of them. May be null. `values` has
  /// `direct_max` elements, and absent ones are none. The function reads no value after code of the program has run.
  Value (*direct)(const void* row, Interpreter& in, Object& self, const Value* values, size_t count) = nullptr;
  uint8_t direct_min = 0, direct_max = 0;
  explicit operator bool() const { return call != nullptr; }
};

/// The base of all objects. The default operations throw an error that names the type.
class Object {
 public:
  Object() = default;
  Object(const Object&) = default;
  Object& operator=(const Object&) = default;
  virtual ~Object() = default;
  /// Whether the object refers to other values. Chains of such objects are freed without recursion.
  bool has_parts() const { return has_parts_; }
  /// A reference to this object, which other references keep alive.
  ObjectPtr shared_from_this() { return ObjectPtr::to(this); }
  virtual std::string type_name() const = 0;
  /// The text that `print` shows (str), and the text inside containers (repr).
  virtual std::string str(Interpreter& in) { return repr(in); }
  virtual std::string repr(Interpreter& in);
  /// The member with a name, or nullopt if there is none.
  virtual std::optional<Value> member(Interpreter& in, std::string_view name);
  /// Names for completion and suggestions.
  virtual std::vector<std::string> member_names() const { return {}; }
  /// The member names that the program chose. An error lists them if it has no suggestion.
  virtual std::vector<std::string> own_names() const { return {}; }
  virtual void set_member(Interpreter& in, std::string_view name, Value value);
  /// The method with this name that all objects of the class have; empty if `member` must be asked.
  virtual Method method_of_class(std::string_view) const { return {}; }
  virtual bool callable() const { return false; }
  virtual Value call(Interpreter& in, Arguments args);
  /// Calls the object with positional values only.
  virtual Value call_by_position(Interpreter& in, const Value* values, size_t count);
  /// Whether call_by_position takes this number of values. It refuses none that `admits` admits. An error in others
  /// would need the value's place.
  virtual bool takes_by_position(size_t /*count*/) const { return false; }
  virtual bool admits(const Value* /*values*/, size_t /*count*/) const { return true; }
  /// `base[key]`. Several subscripts arrive as a tuple, slices as a SliceObject.
  virtual Value index(Interpreter& in, const Value& key);
  virtual void set_index(Interpreter& in, const Value& key, Value value);
  virtual std::optional<int64_t> length(Interpreter&) { return std::nullopt; }
  virtual std::optional<Iterator> iterate(Interpreter&) { return std::nullopt; }
  virtual bool contains(Interpreter& in, const Value& item);
  virtual bool truth(Interpreter& in);
  /// `==`, for example between containers. The default is identity.
  virtual bool equals(Interpreter& in, const Value& other);
  /// The key of a dict: equal values have equal keys. Returns nullopt if the object cannot be a key.
  virtual std::optional<std::string> hash_key() const;
  /// Whether objects that denote one thing are one value for `is`: tensors, streams, dtypes.
  virtual bool is_handle() const { return false; }
  /// The spec of a tensor or stream.
  virtual std::optional<TensorSpec> spec_in_graph() const { return std::nullopt; }
  /// Throws if the elements exist only while a session runs.
  virtual void check_has_elements() const {}
  /// A note for the error about a missing member, or an empty text.
  virtual std::string note_on_missing(std::string_view /*name*/) const { return {}; }
  /// A note for the error about its use as a tensor or a number, or an empty text.
  virtual std::string note_on_misuse() const { return {}; }
  /// `with` contexts: `enter` returns the `as` value. `failed`: an exception is propagating.
  virtual bool is_context() const { return false; }
  virtual Value enter(Interpreter& in);
  virtual void leave(Interpreter&, bool /*failed*/) {}
  /// Reports the values and scopes to which the object refers. Objects that can be part of a circle implement it.
  virtual void references(References&) const {}

  /// Must be called before the object's own state changes: undoing an input (undo.hpp) restores the state. Costs a
  /// comparison if nothing is recorded.
  void changing() {
    if (era_ < recording_era) record_state();
  }
  /// Makes the state unknown: code that may not run has changed it (look.hpp).
  void forget() { forgotten_ = true; }
  bool forgotten() const { return forgotten_; }
  /// Whether a change now would be recorded.
  bool is_recorded() const { return era_ < recording_era; }
  /// If true, changes are not recorded for undo: changed objects are forgotten.
  static inline thread_local bool forgets_changes = false;
  /// Returns a function that restores the present state. It is empty for immutable objects.
  virtual std::function<void()> state() { return {}; }
  /// The number of the input that this thread records; 0 if it records none.
  static inline thread_local uint64_t recording_era = 0;
  /// Each input of any thread increments it. Objects made during an input need no record in that input.
  static inline std::atomic<uint64_t> latest_era = 0;

 private:
  void record_state();
  uint64_t era_ = latest_era;
  bool forgotten_ = false;

 protected:
  bool has_parts_ = true;
};

/// "a str", "an int".
std::string with_article(const std::string& noun);

/// Throws an Error with a message like "expected X, got Y" and without a span, which the evaluator adds.
[[noreturn]] void type_error(const std::string& what, std::string_view code = codes::type);
/// The notes for an error that refuses a value as a tensor or a number.
std::vector<std::string> notes_on_misuse(const Value& v);
/// Throws a type error about a value that was passed in place of a tensor or a number.
[[noreturn]] void misuse_error(const std::string& what, const Value& v);

}  // namespace pxl
