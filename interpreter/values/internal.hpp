// What the files of the evaluator share among themselves: the depth guard, host arithmetic, namespaces, and the
// lookups that more than one of them needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/values/interpreter.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

/// "mnist.pxl:31:11": where a span begins; empty for a null span.
std::string place_text(Span span);

/// Counts nested calls and looks at the machine stack that is left: throws "recursion too deep" while there is
/// still room to report it. One lives in every call, and in every recursive walk over values.
struct DepthGuard {
  explicit DepthGuard(Interpreter& in);
  ~DepthGuard();
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Interpreter& in_;
};

/// Restores the call chain and the current place when a call ends, also by an exception.
struct CallFrame {
  CallFrame(Interpreter& in, std::string what, Span at);
  ~CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

 private:
  Interpreter& in_;
  CallChain::Link link_;
  Span here_;
};

/// Frees values without recursion, so that a chain of a million nested lists dies as quietly as it was made.
void bury(Value& v);

/// `ops`, `ops.var_updates`, an imported file: names behind a dot.
struct NamespaceObject final : Object {
  std::string name;
  ScopePtr scope;
  NamespaceObject(std::string n, ScopePtr s) : name(std::move(n)), scope(std::move(s)) {}
  std::string type_name() const override { return "namespace"; }
  std::string repr(Interpreter&) override { return "<namespace " + name + ">"; }
  std::optional<Value> member(Interpreter&, std::string_view member_name) override;
  std::vector<std::string> member_names() const override;
};

/// The key of a dict: equal values have equal keys (1, 1.0 and true are one key). Nothing: not usable as a key.
std::optional<std::string> key_of(const Value& v);

// ---- host numbers (numbers.cpp)
/// Python's arithmetic on bools, 64-bit ints and floats; leaving 64 bits, dividing by zero and bad shifts are Errors.
Value number_binary(ast::BinaryOp op, const Value& a, const Value& b);
/// -1, 0, 1; 2 where a NaN is involved. Ints and floats compare exactly.
int number_order(const Value& a, const Value& b);
int64_t checked_add(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
/// Truncates a finite float; throws for others and beyond 64 bits.
int64_t int_from_double(double d);
/// Parses "12", " -3 ", "0x1F", "1_000"; nothing where the text is no int.
std::optional<int64_t> parse_int(std::string_view text, int base = 10);
std::optional<double> parse_float(std::string_view text);

// ---- sequences
/// What one operation may make at most: beyond it a slip (`x + x` in a loop) would fill the memory of the machine.
constexpr size_t max_text = size_t{1} << 28;      ///< bytes
constexpr size_t max_elements = size_t{1} << 24;  ///< of a list
/// Throws where a text that is being put together has grown beyond max_text: shared parts of a value can come again
/// exponentially often.
inline void check_text_size(const std::string& text) {
  if (text.size() > max_text) [[unlikely]]
    throw run_error("the text of the value is too long").as(codes::memory);
}
/// A subscript on an axis of `length`: negative counts from the end; throws "index 5 is out of range for ...".
int64_t wrap_index(int64_t index, int64_t length, const std::string& what);
/// An int, also from a bool or an integer 0-d array; throws naming `what` otherwise.
int64_t to_index(const Value& v, const std::string& what);
/// The same of a subscript: what is no int is an error of kind `index`.
int64_t element_index(const Value& v, const std::string& what);
struct SliceRange {
  int64_t start, step, count;
};
/// Python's rules for slices of an axis of `length`.
SliceRange resolve_slice(const SliceObject& s, int64_t length);

// ---- arrays (arrays.cpp, array_index.cpp)
/// The element of a 0-d array (or of one element) as a host number, else nothing.
std::optional<Value> scalar_of(const Value& v);
Value element_value(const Array& a, int64_t i);
/// NumPy's indexing: ints, slices with steps, ellipsis, none (a new axis), int arrays and bool masks.
Value array_get(Interpreter& in, const Array& a, const Value& key);
void array_set(Interpreter& in, Array& a, const Value& key, const Value& value);

// ---- names (statements.cpp)
/// Where `nonlocal name` binds for a body whose scope lies directly in `from`: the nearest body or file that binds the
/// name. Null where there is none, or a module's instance has it.
ScopePtr nonlocal_scope(const ScopePtr& from, Name name);
/// Interpreter::bind; false where the name is nonlocal and nothing outside has it.
bool bind_in_body(Activation& a, Name name, Value value);
/// One round of a loop: where the loop makes functions, a scope for the names that the round owns.
class Round {
 public:
  Round(const ast::ForStmt& s, Activation& a) : a_(a), outside_(a.round) {
    if (!s.captures) return;
    ScopePtr own = std::make_shared<Scope>(a.closure());
    own->round = &s.round;
    own->running = true;
    a.round = std::move(own);
  }
  ~Round() {
    if (a_.round != outside_) a_.round->running = false;
    a_.round = std::move(outside_);
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

 private:
  Activation& a_;
  ScopePtr outside_;
};
/// Before a scope other than the running body's changes: an input that is taken back restores it (undo.cpp).
void record_change(const ScopePtr& scope);
/// What has a name outside of a body.
enum class OuterName : uint8_t { none, name, field, builtin };
OuterName outer_kind(const Interpreter& in, const Scope* from, Name name);
/// The errors of a name that its body binds after it is read, and of `nonlocal` without a name outside; no place yet.
Error read_too_early(const std::string& name, OuterName outer);
Error no_outer_name(const std::string& name, bool is_field);

// ---- ops
/// A host array or number as an operand of eager ops.
Value unwrap_host(Array result, bool as_number);
/// Runs a table op by name on values: how operators reach ops.
Value op_by_name(Interpreter& in, std::string_view op, std::vector<Value> operands);
/// Whether a tensor is among the value or the elements of a list.
bool mentions_tensor(const Value& v);
/// A bound op method of a tensor or array, or nothing.
std::optional<Value> op_method(const Value& receiver, std::string_view name);
std::vector<std::string> op_method_names();

// ---- parts of the evaluator
/// Evaluates an annotation and checks a value against it; gives the value, converted where the type says so.
Value check_annotation(Interpreter& in, const std::string& what, const ast::Parameter& p, Value v, Activation& a);
/// Enters contexts in order, runs `body`, leaves in reverse order, also when an exception passes.
void with_contexts(Interpreter& in, const std::vector<ast::WithItem>& items, Activation& a,
                   const std::function<void()>& body);
/// The value of an fstring.
std::string fstring_text(Interpreter& in, const std::vector<ast::FPiece>& pieces, Activation& a);
Value comprehension(Interpreter& in, const ast::ComprehensionExpr& e, Activation& a);
void run_test(Interpreter& in, const ast::TestStmt& s, Activation& a);
void run_assert(Interpreter& in, const ast::AssertStmt& s, Activation& a);
/// `with expect_error("text") { }`.
Value expect_error_context(std::string text);
/// The text of `expect_error` if the value is its context.
const std::string* expected_error(const Value& v);

/// Registers a builtin: all that it does outside the program is among its effects.
void define(Scope& scope, Effects effects, std::string name, std::string signature, std::string doc,
            BuiltinObject::Body body, InLook in_look = InLook::passed_over);

/// Numbers of code points; the byte offset of code point `n`.
int64_t code_points(std::string_view utf8);
size_t code_point_offset(std::string_view utf8, int64_t n);

/// "a str", "an int".
std::string with_article(const std::string& noun);

}  // namespace pxl
