// The evaluator of scripts: walks the tree, computes host values at once and adds ops to the graph being built.
// One Interpreter is one session of a user (a script run, a REPL). Its parts, by file:
//   expressions.cpp statements.cpp functions.cpp   the language itself            (host values)
//   op_call.cpp operators.cpp                      ops and operators on tensors, arrays and numbers
//   modules.cpp programs.cpp declarations.cpp      modules, programs, param/stream/variable/constant/option
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/tensor/random.hpp"

namespace pxl {

struct Checking;    // a check of a file that does not run it; check.hpp
class RunWatch;     // run_watch.hpp
struct BuildState;  // what a module's build or a graph function collects; modules.hpp
struct GraphWorld;  // builds in progress, graphs that calls share, facts about graphs; modules.hpp

/// One running body.
struct Activation {
  ScopePtr scope;
  ScopePtr round = nullptr;  ///< in a loop that makes functions: the names of this round
  const ScopePtr& closure() const { return round ? round : scope; }  ///< what a function made here sees
  Value self;                                                        ///< the instance in a module's methods and build
  std::shared_ptr<BuildState> build;                                 ///< where `param` declares; null outside a build
  enum class Kind : uint8_t { file, function, build, program, test } kind = Kind::function;
  Value result;  ///< set by return
};

enum class Flow : uint8_t { normal, break_loop, continue_loop, returned };

/// The graph that ops are being added to.
struct BuildTarget {
  std::shared_ptr<Ir> ir;
  Graph* graph = nullptr;
  size_t importing = 0;  ///< how many imports were running when this began: an imported file may not add to it
};

struct InterpreterOptions {
  std::function<void(std::string_view)> out;  ///< what `print` writes
  std::function<void(std::string_view)> err;  ///< progress and notices
  /// Takes an SVG that `plot` drew, with its title; where empty, charts are written as text.
  std::function<void(const std::string& svg, const std::string& title)> picture;
  bool quiet = false;
  bool terminal = false;                       ///< err is a terminal: progress bars may redraw
  bool run_tests = false;                      ///< `test` blocks run
  std::map<std::string, std::string> options;  ///< values of the script's `option`s, from the command line
  std::string program_name;                    ///< for messages on options
};

class Interpreter {
 public:
  explicit Interpreter(InterpreterOptions options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // ---- running texts (functions.cpp, imports.cpp)
  /// Runs a whole file in a new file scope. Throws Error, Interrupted, ExitRequest.
  void run_file(const ast::TreePtr& tree);
  /// Runs more text in the session's own file scope; gives the value of a final expression statement (none
  /// otherwise). For the REPL and -e. The caller rolls back on failure.
  Value run_more(const ast::TreePtr& tree);
  const ScopePtr& file_scope() const { return file_scope_; }
  const ScopePtr& prelude() const { return prelude_; }
  /// A module of the standard library, or a file beside the importing one; loaded once.
  ScopePtr import_module(const std::vector<std::string>& path, const Span& at);

  // ---- the language (expressions.cpp, statements.cpp)
  Value evaluate(const ast::Expr& e, Activation& a);
  Flow execute(const ast::Block& block, Activation& a);
  Flow execute(const ast::Stmt& s, Activation& a);
  void assign(const ast::Expr& target, Value value, Activation& a);
  /// Binds a name as a statement of the body does: in it, outside of it after `nonlocal`, and in the running round.
  void bind(Activation& a, Name name, Value value);
  /// Defaults of a function that is made here, by parameter; empty where all are literals.
  std::vector<Value> make_defaults(const ast::Function& f, Activation& a);
  Arguments evaluate_arguments(const ast::CallExpr& call, Activation& a);

  // ---- calls (functions.cpp)
  /// Calls anything callable. Errors that leave it get `args.span` if they have no place yet.
  Value call(const Value& callee, Arguments args);
  Value call(const Value& callee, std::vector<Value> positional);
  /// Binds arguments to parameters by position, name and default; checks annotations (types and shape patterns,
  /// binding their free dimensions as names); fills `scope`. `what` names the callee in messages.
  void bind_parameters(const std::string& what, const std::vector<ast::Parameter>& parameters, Arguments args,
                       const ScopePtr& scope, const ScopePtr& defaults_scope, const std::vector<Value>& defaults = {});
  /// Runs a body in a prepared activation, inside its `with` contexts, and gives what it returned.
  Value run_function(const ast::Function& f, Activation& a);

  // ---- common questions about values
  std::string str(const Value& v);
  std::string repr(const Value& v);
  bool truth(const Value& v);
  bool equal(const Value& a, const Value& b);
  bool identical(const Value& a, const Value& b);
  Iterator iterate(const Value& v);
  std::vector<Value> to_vector(const Value& v);
  int64_t length(const Value& v);
  /// A member, or an Error with the nearest name.
  Value member(const Value& v, const std::string& name, const Span& at);
  std::string format(const Value& v, std::string_view spec);  ///< Python's format mini-language

  // ---- ops (op_call.cpp, operators.cpp)
  /// Binds arguments to a row's parameters and makes the op: in the current graph if any operand is a tensor (or
  /// the op takes none and makes tensors), at once on arrays and numbers. One output gives a value, several a tuple.
  Value call_op(const OpRow& row, Arguments args);
  Value binary(ast::BinaryOp op, const Value& a, const Value& b);
  Value compare(ast::CompareOp op, const Value& a, const Value& b);
  Value unary(ast::UnaryOp op, const Value& a);
  Value tensor_member(const Value& tensor_or_array, std::string_view name, bool& found);  ///< op methods
  Value tensor_index(const Value& tensor, const Value& key);

  // ---- conversions (convert.cpp)
  /// An array of numbers, nested lists or arrays, of the dtype that they have by themselves.
  Array to_array(const Value& v);
  /// The same where something else says the dtype: refuses what the dtype does not hold (exact.hpp), as "WHAT: ...".
  Array to_array(const Value& v, DType dtype, std::string_view what);
  /// The explicit cast: drops fractions, and bits of arrays of ints.
  Array cast_array(const Value& v, DType dtype);
  TensorSpec to_spec(const Value& v, const char* what);  ///< a spec, or a tensor's or array's
  Shape to_shape(const Value& v, const char* what);
  DType to_dtype(const Value& v, const char* what);

  // ---- declarations (modules.cpp, programs.cpp, declarations.cpp)
  void declare_module(const ast::ModuleStmt& s, Activation& a);
  void declare_program(const ast::ProgramStmt& s, Activation& a);
  void declare_param(const ast::ParamStmt& s, Activation& a);
  void declare_stream(const ast::StreamStmt& s, Activation& a);
  void declare_variable(const ast::VariableStmt& s, Activation& a);
  void declare_option(const ast::OptionStmt& s, Activation& a);
  /// `outlined fc2 = ...` in a module, `outlined def`.
  Value outlined(const Value& v, const std::string& name);
  Value outlined_function(const ast::Function& f, Activation& a);

  // ---- the graph being built (programs.cpp)
  /// The current graph; at the top level of a script this starts the implicit program `main`. Throws where ops have
  /// no place (an imported file).
  BuildTarget& target();
  bool has_target() const { return !targets_.empty(); }
  /// Whether a declared program (not the implicit one) is being built.
  bool in_program() const { return !targets_.empty() && targets_.back().ir != implicit_ir_; }
  void push_target(BuildTarget t) {
    t.importing = importing_.size();
    targets_.push_back(std::move(t));
  }
  const std::vector<BuildTarget>& targets() const { return targets_; }  ///< innermost last
  void pop_target() { targets_.pop_back(); }
  /// The Ir behind `ir`.
  std::shared_ptr<Ir> current_ir();
  std::shared_ptr<Ir> implicit_ir() const { return implicit_ir_; }
  /// The same, made where there is none yet.
  std::shared_ptr<Ir> top_level_ir();
  /// The builds and caches of the graph world (modules.hpp); made on first use.
  GraphWorld& world();
  /// After Ir::rollback: forgets what is known of graphs and streams that are gone.
  void forget_dropped(Ir& ir);

  // ---- state
  Random& random() { return random_; }
  const InterpreterOptions& options() const { return options_; }
  void write(std::string_view text) { options_.out(text); }
  void notice(std::string_view text) {
    if (!options_.quiet) options_.err(text);
  }
  Checking* checking = nullptr;  ///< set while a file is checked without being run
  /// Begins a file scope for a tree whose statements the caller runs; keeps a tree's code alive.
  void begin_file(const ast::TreePtr& tree);
  void keep(const ast::TreePtr& tree) { trees_.push_back(tree); }
  std::shared_ptr<RunWatch> run_watch;  ///< looks at sessions' runs; may be null
  CallChain frames;                     ///< the chain of calls that is running
  Span here;                            ///< the expression that is being evaluated: where new ops come from

  struct TestOutcome {
    std::string title;
    bool passed;
    Diagnostic failure;
  };
  std::vector<TestOutcome> tests;  ///< outcomes of `test` blocks, in order
  /// The `option`s that were declared, in order, for --help and for checking the command line.
  struct OptionInfo {
    std::string name, type, default_text, doc;
    bool required;
  };
  std::vector<OptionInfo> declared_options;

  /// Where a scope captured by a function is noted, so that cycles of scopes and functions end with the session.
  void remember(const ScopePtr& scope);

 private:
  friend struct DepthGuard;
  friend class InputRecord;
  InterpreterOptions options_;
  ScopePtr prelude_;
  ScopePtr file_scope_;
  std::vector<ast::TreePtr> trees_;  ///< keeps all code alive
  std::map<std::string, ScopePtr> imported_;
  std::vector<std::string> importing_;
  std::vector<BuildTarget> targets_;
  std::shared_ptr<Ir> implicit_ir_;
  std::shared_ptr<GraphWorld> world_;
  Random random_;
  int depth_ = 0;
  std::vector<std::weak_ptr<Scope>> captured_;
  size_t captured_limit_ = 1024;
};

/// A function of the program: `def`, lambda, method (then `self` is set).
struct FunctionObject final : Object {
  const ast::Function* code = nullptr;
  ScopePtr closure;
  std::vector<Value> defaults;  ///< as make_defaults gives them
  Value self;
  std::string qualified_name;  ///< "Linear.build", "train.loss", "<lambda>"
  std::string type_name() const override { return "function"; }
  std::string repr(Interpreter&) override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
};

/// Makes the names that every program sees: Python-like functions (builtins.cpp), ops (bound from the op table),
/// dtypes, and the graph functions (graph_builtins.cpp).
void bind_core_builtins(Interpreter& in, Scope& prelude);
void bind_op_builtins(Interpreter& in, Scope& prelude);
void bind_data_builtins(Interpreter& in, Scope& prelude);   ///< arrays, random draws, load, save, mnist, progress
void bind_graph_builtins(Interpreter& in, Scope& prelude);  ///< call, autodiff, Session, in_sequence, host_load, ...

/// Thrown by `exit(code)`.
struct ExitRequest {
  int code;
};

}  // namespace pxl
