// The abstract syntax tree: the interface between the parser and the rest of the interpreter. Nodes live in the arena
// of their Tree and refer to each other by pointer. The Tree frees all nodes at once, so that a tree of any depth is
// destroyed without recursion. Every node has a span.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/syntax/name.hpp"
#include "runtime/base/diagnostics/source.hpp"

namespace pxl::ast {

class Tree;

/// The form of a node that the evaluator runs. The node keeps it.
struct Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  virtual ~Compiled() = default;
};
using CompiledPtr = std::unique_ptr<const Compiled>;

// A small node takes one line, so that the definitions read like a grammar.
// clang-format off

// ---- expressions ----------------------------------------------------------------------------------------------

enum class ExprKind : uint8_t {
  none, boolean, integer, floating, string, fstring, name, list, tuple, dict, comprehension, dict_comprehension,
  unary, chain, power, compare, logical, conditional, attempt, lambda, call, index, slice, ellipsis, member, starred
};

struct Expr {
  ExprKind kind;
  Span span;
  mutable std::unique_ptr<Compiled> compiled;
  Expr(ExprKind k, Span s) : kind(k), span(s) {}
  virtual ~Expr() = default;
};

struct NoneExpr : Expr { explicit NoneExpr(Span s) : Expr(ExprKind::none, s) {} };
struct BoolExpr : Expr { bool value = false; explicit BoolExpr(Span s) : Expr(ExprKind::boolean, s) {} };
struct IntExpr : Expr { int64_t value = 0; explicit IntExpr(Span s) : Expr(ExprKind::integer, s) {} };
struct FloatExpr : Expr { double value = 0; explicit FloatExpr(Span s) : Expr(ExprKind::floating, s) {} };
/// The value has its escapes resolved and adjacent literals joined.
struct StringExpr : Expr { std::string value; explicit StringExpr(Span s) : Expr(ExprKind::string, s) {} };

/// A part of an f-string: text, or an interpolation. An interpolation may have a "!r" conversion and a format, which
/// has parts too, since formats may contain interpolations. It also notes whether it was written `{x=}`.
struct FPiece {
  std::string text;
  Expr* value = nullptr;
  char conversion = 0;
  bool show_source = false;
  std::vector<FPiece> format;
};
struct FStringExpr : Expr { std::vector<FPiece> pieces; explicit FStringExpr(Span s) : Expr(ExprKind::fstring, s) {} };

/// `unsure`: an enclosing body binds the name, and may not have done so yet. `nonlocal`: the name is a target that is
/// bound outside.
struct NameExpr : Expr { std::string name; Name interned; bool unsure = false, nonlocal = false; explicit NameExpr(Span s) : Expr(ExprKind::name, s) {} };
struct ListExpr : Expr { std::vector<Expr*> items; explicit ListExpr(Span s) : Expr(ExprKind::list, s) {} };
struct TupleExpr : Expr { std::vector<Expr*> items; explicit TupleExpr(Span s) : Expr(ExprKind::tuple, s) {} };
/// A null key marks `**mapping`.
struct DictExpr : Expr {
  std::vector<std::pair<Expr*, Expr*>> items;
  explicit DictExpr(Span s) : Expr(ExprKind::dict, s) {}
};

struct Clause {
  std::vector<Expr*> targets;  ///< names, or nested tuples of names; several without brackets are a tuple
  Expr* iterable = nullptr;
  std::vector<Expr*> conditions;
};
/// `[value for ...]`, or `{key: value for ...}` if key is set (kind dict_comprehension).
struct ComprehensionExpr : Expr {
  Expr* key = nullptr;
  Expr* value = nullptr;
  std::vector<Clause> clauses;
  bool captures = false;  ///< an iteration makes a function
  ComprehensionExpr(ExprKind k, Span s) : Expr(k, s) {}
};

enum class UnaryOp : uint8_t { minus, plus, invert, logical_not };
struct UnaryExpr : Expr { UnaryOp op{}; Expr* operand = nullptr; explicit UnaryExpr(Span s) : Expr(ExprKind::unary, s) {} };

enum class BinaryOp : uint8_t { add, sub, mul, div, floor_div, mod, matmul, power, bit_and, bit_or, bit_xor, shift_left, shift_right };
/// The operator's source text: "+", "//", "@".
std::string_view text(BinaryOp op);
/// A left-associative sequence of operators with equal precedence: `a + b - c`. The evaluator runs it in a loop, left
/// to right.
struct ChainExpr : Expr {
  struct Step { BinaryOp op; Span op_span; Expr* operand; };
  Expr* first = nullptr;
  std::vector<Step> rest;
  explicit ChainExpr(Span s) : Expr(ExprKind::chain, s) {}
};
struct PowerExpr : Expr { Expr* base = nullptr; Expr* exponent = nullptr; Span op_span; explicit PowerExpr(Span s) : Expr(ExprKind::power, s) {} };

enum class CompareOp : uint8_t { eq, ne, lt, le, gt, ge, in, not_in, is, is_not };
std::string_view text(CompareOp op);
/// `a < b <= c`: each operand is evaluated once.
struct CompareExpr : Expr {
  struct Step { CompareOp op; Span op_span; Expr* operand; };
  Expr* first = nullptr;
  std::vector<Step> rest;
  explicit CompareExpr(Span s) : Expr(ExprKind::compare, s) {}
};
/// `a and b and c` or `a or b or c`: short-circuits and yields the deciding operand, as in Python.
struct LogicalExpr : Expr { bool is_and = true; std::vector<Expr*> operands; explicit LogicalExpr(Span s) : Expr(ExprKind::logical, s) {} };
struct ConditionalExpr : Expr {
  Expr* condition = nullptr; Expr* then_value = nullptr; Expr* else_value = nullptr;
  explicit ConditionalExpr(Span s) : Expr(ExprKind::conditional, s) {}
};

/// `try VALUE else OTHERWISE`.
struct AttemptExpr : Expr { Expr* value = nullptr; Expr* otherwise = nullptr; explicit AttemptExpr(Span s) : Expr(ExprKind::attempt, s) {} };

/// An argument of a call: positional, `name = value`, `*list` or `**mapping`.
struct Argument {
  enum Kind : uint8_t { positional, named, spread, spread_named } kind = positional;
  std::string name;
  Expr* value = nullptr;
  Span span;
};
struct CallExpr : Expr { Expr* callee = nullptr; std::vector<Argument> arguments; explicit CallExpr(Span s) : Expr(ExprKind::call, s) {} };
/// `base[subscripts]`. A subscript may be a slice, an ellipsis or starred. `float32[]` has no subscripts.
struct IndexExpr : Expr { Expr* base = nullptr; std::vector<Expr*> subscripts; bool trailing_comma = false; explicit IndexExpr(Span s) : Expr(ExprKind::index, s) {} };
struct SliceExpr : Expr { Expr* start = nullptr; Expr* stop = nullptr; Expr* step = nullptr; explicit SliceExpr(Span s) : Expr(ExprKind::slice, s) {} };
struct EllipsisExpr : Expr { explicit EllipsisExpr(Span s) : Expr(ExprKind::ellipsis, s) {} };
struct MemberExpr : Expr { Expr* base = nullptr; std::string name; Span name_span; explicit MemberExpr(Span s) : Expr(ExprKind::member, s) {} };
struct StarredExpr : Expr { Expr* value = nullptr; explicit StarredExpr(Span s) : Expr(ExprKind::starred, s) {} };

// ---- declarations and statements ------------------------------------------------------------------------------

/// A parameter of a function, build, module or program: `ref x: float32[n, 4] = default`, `*rest`, or `**options`.
struct Parameter {
  std::string name;
  Name interned;
  Span span;
  bool by_ref = false;
  bool rest = false;     ///< collects the remaining positional arguments in a list
  bool options = false;  ///< collects the remaining named arguments in a dict
  bool by_name = false;  ///< comes after `*` or `*rest`: is passed by name only
  Expr* annotation = nullptr;  ///< a type name, a shape pattern, or null
  Expr* default_value = nullptr;
  mutable std::optional<uint32_t> kinds = {};  ///< kept by kinds_of (functions.hpp)
  bool collects() const { return rest || options; }
};

struct Block;
/// `with` clause items: `name(...)` with an optional `as` name.
struct WithItem { Expr* context = nullptr; std::string as; Span as_span; };

/// Names that the body of a function, a program or a test owns (resolve.cpp).
struct OwnNames {
  std::vector<Name> slots;      ///< all names that the body binds as it runs: the layout of its scope
  std::vector<Name> locals;     ///< bound by assignments, loops, `as`, imports and defs: never searched outside
  std::vector<Name> nonlocals;  ///< declared by `nonlocal`
  std::vector<Name> rebinds;    ///< nonlocal names of this body and of nested functions, bound outside this body
};

/// The part that `def`, `build` and lambdas share.
struct Function {
  const Tree* tree = nullptr;
  std::string name;       ///< "build", or "<lambda>"
  std::string qualified;  ///< "Linear.build"; `name` outside a module
  Span span;         ///< span of the function's head
  std::vector<Parameter> parameters;
  std::vector<Expr*> results;  ///< annotations after `->`; several annotate a tuple's items
  std::vector<WithItem> contexts;
  Block* body = nullptr;   ///< statements, or
  Expr* result = nullptr;  ///< a lambda's expression
  bool outlined = false;
  bool makes_defaults = false;  ///< a default is not a literal
  std::string doc;
  OwnNames own;
  uint64_t serial = 0;  ///< unique number of the function in this process
  int self_slot = -1;   ///< slot of a method's `self`, unless a parameter has that name
  bool ordinary = false;  ///< has no contexts, and each parameter takes one value, by position or by name
  bool plain = false;     ///< is ordinary, and has no annotations
  bool captured = false;  ///< its body makes functions or types, which see its scope
  mutable std::unique_ptr<Compiled> compiled;
  mutable std::unique_ptr<const std::vector<std::string>> mentioned;  ///< built by names_in (functions.hpp)
};
struct LambdaExpr : Expr { Function* function = nullptr; explicit LambdaExpr(Span s) : Expr(ExprKind::lambda, s) {} };

enum class StmtKind : uint8_t {
#define PXL_STATEMENT(kind, node) kind,
#include "interpreter/syntax/statements.inc"
#undef PXL_STATEMENT
};

struct Stmt {
  StmtKind kind;
  Span span;
  const Tree* tree = nullptr;
  mutable std::unique_ptr<Compiled> compiled;
  Stmt(StmtKind k, Span s) : kind(k), span(s) {}
  virtual ~Stmt() = default;
};

struct Block { std::vector<Stmt*> statements; Span span; mutable std::unique_ptr<Compiled> compiled; };

struct ExprStmt : Stmt { Expr* value = nullptr; bool hidden = false; explicit ExprStmt(Span s) : Stmt(StmtKind::expression, s) {} };
/// `a = b = value`, `a, b = value`, `a[i] = value`, `self.f = value`, `x += value`, `outlined fc2 = value`.
/// Each element of `targets` is one `... =`: a name, member, index, or a tuple/list of targets.
struct AssignStmt : Stmt {
  std::vector<Expr*> targets;
  bool augmented = false;
  BinaryOp op{};     ///< set for augmented assignments
  bool outlined = false;
  Expr* value = nullptr;
  std::string doc;
  explicit AssignStmt(Span s) : Stmt(StmtKind::assign, s) {}
};
struct IfStmt : Stmt {
  struct Arm { Expr* condition; Block* body; };
  std::vector<Arm> arms;  ///< if, else if, ...
  Block* else_body = nullptr;
  explicit IfStmt(Span s) : Stmt(StmtKind::if_, s) {}
};
/// `round`: names with a separate binding per iteration, for functions that capture them. Empty unless `captures`.
struct ForStmt : Stmt {
  std::vector<Expr*> targets; Expr* iterable = nullptr; Block* body = nullptr;
  bool captures = false; std::vector<Name> round;
  explicit ForStmt(Span s) : Stmt(StmtKind::for_, s) {}
};
struct WhileStmt : Stmt { Expr* condition = nullptr; Block* body = nullptr; explicit WhileStmt(Span s) : Stmt(StmtKind::while_, s) {} };
struct BreakStmt : Stmt { explicit BreakStmt(Span s) : Stmt(StmtKind::break_, s) {} };
struct ContinueStmt : Stmt { explicit ContinueStmt(Span s) : Stmt(StmtKind::continue_, s) {} };
struct PassStmt : Stmt { explicit PassStmt(Span s) : Stmt(StmtKind::pass, s) {} };
/// `return`, `return x`, `return x, y` (a TupleExpr). `checked`: the enclosing function declares results.
struct ReturnStmt : Stmt { Expr* value = nullptr; bool checked = false; explicit ReturnStmt(Span s) : Stmt(StmtKind::return_, s) {} };
struct WithStmt : Stmt { std::vector<WithItem> items; Block* body = nullptr; explicit WithStmt(Span s) : Stmt(StmtKind::with, s) {} };
/// `try { } catch KIND, KIND as NAME { } finally { }`. A `catch` without kinds takes errors of the world.
struct TryStmt : Stmt {
  struct Kind { std::string name; Span span; };
  struct Catch { std::vector<Kind> kinds; NameExpr* as = nullptr; Block* body = nullptr; };
  Block* body = nullptr;
  std::vector<Catch> catches;
  Block* finally_body = nullptr;
  explicit TryStmt(Span s) : Stmt(StmtKind::try_, s) {}
};
struct DefStmt : Stmt { Function* function = nullptr; explicit DefStmt(Span s) : Stmt(StmtKind::def, s) {} };
struct ImportStmt : Stmt { std::vector<std::string> path; std::string as; explicit ImportStmt(Span s) : Stmt(StmtKind::import, s) {} };
struct FromImportStmt : Stmt {
  struct Item { std::string name, as; Span span; };
  std::vector<std::string> path;  ///< begins with a "." for each dot of a relative import
  std::optional<std::string> file;  ///< file of `from "model.onnx" import`; none for a path
  std::vector<Item> items;
  explicit FromImportStmt(Span s) : Stmt(StmtKind::from_import, s) {}
};
struct AssertStmt : Stmt { Expr* condition = nullptr; Expr* message = nullptr; explicit AssertStmt(Span s) : Stmt(StmtKind::assert_, s) {} };

/// `module NAME(configuration) { fields, defs, build }`.
struct ModuleStmt : Stmt {
  std::string name;
  Span name_span;
  std::vector<Parameter> parameters;
  std::vector<Stmt*> fields;        ///< assignments and other statements, in order
  std::vector<Function*> methods;   ///< `def`s
  Function* build = nullptr;
  std::string doc;
  explicit ModuleStmt(Span s) : Stmt(StmtKind::module, s) {}
};
/// `record NAME(fields)`.
struct RecordStmt : Stmt {
  std::string name;
  Span name_span;
  std::vector<Parameter> fields;
  std::string doc;
  explicit RecordStmt(Span s) : Stmt(StmtKind::record, s) {}
};
struct ProgramStmt : Stmt { Function* function = nullptr; explicit ProgramStmt(Span s) : Stmt(StmtKind::program, s) {} };
/// `param [ref] NAME: SPEC [= INIT] [with a = x, ...]` and `state NAME: SPEC = INIT [with ...]`.
struct ParamStmt : Stmt {
  std::string name; Span name_span; bool by_ref = false, is_state = false;
  Expr* spec = nullptr; Expr* init = nullptr; std::vector<Argument> options; std::string doc;
  explicit ParamStmt(Span s) : Stmt(StmtKind::param, s) {}
};
/// `next a, b = v, w`: the next values of states.
struct NextStmt : Stmt {
  std::vector<NameExpr*> targets; Expr* value = nullptr;
  explicit NextStmt(Span s) : Stmt(StmtKind::next, s) {}
};
/// `stream in|out NAME[: SPEC] [= TENSOR]`.
struct StreamStmt : Stmt {
  std::string name; Span name_span; bool is_input = true; Expr* spec = nullptr; Expr* value = nullptr; std::string doc;
  explicit StreamStmt(Span s) : Stmt(StmtKind::stream, s) {}
};
/// `variable NAME: SPEC = INIT [with ...]` and `constant NAME: SPEC = VALUE`.
struct VariableStmt : Stmt {
  std::string name; Span name_span; Expr* spec = nullptr; Expr* init = nullptr; std::vector<Argument> options; std::string doc;
  VariableStmt(StmtKind k, Span s) : Stmt(k, s) {}
};
/// `option NAME: TYPE [= DEFAULT]`.
struct OptionStmt : Stmt {
  std::string name; Span name_span; Expr* type = nullptr; Expr* default_value = nullptr; std::string doc;
  explicit OptionStmt(Span s) : Stmt(StmtKind::option, s) {}
};
struct TestStmt : Stmt { std::string title; Block* body = nullptr; OwnNames own; explicit TestStmt(Span s) : Stmt(StmtKind::test, s) {} };

/// `nonlocal a, b`.
struct NonlocalStmt : Stmt {
  struct Item { Name name; Span span; };
  std::vector<Item> items;
  explicit NonlocalStmt(Span s) : Stmt(StmtKind::nonlocal, s) {}
};

/// A parsed text, which owns its nodes. It lives as long as any value that refers to its code (`held`).
class Tree : public std::enable_shared_from_this<Tree> {
 public:
  const SourceFile* source = nullptr;
  Block* body = nullptr;
  std::vector<const NameExpr*> read_too_early;  ///< reads of names that their body has certainly not bound yet

  template <class T, class... A> T* make(A&&... a) {
    auto node = std::make_shared<T>(std::forward<A>(a)...);
    T* raw = node.get();
    if constexpr (requires { raw->tree = this; }) raw->tree = this;
    arena_.push_back(std::move(node));
    return raw;
  }

 private:
  std::deque<std::shared_ptr<void>> arena_;
};
using TreePtr = std::shared_ptr<const Tree>;

/// Code that a value runs: a function or a statement. It keeps its tree alive.
template <class T> using Held = std::shared_ptr<const T>;
template <class T> Held<T> held(const T& code) { return {code.tree->shared_from_this(), &code}; }

// clang-format on

}  // namespace pxl::ast
