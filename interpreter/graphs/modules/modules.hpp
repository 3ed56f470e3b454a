// Modules, their instances, and the state of builds: where `param` declares, and which graphs calls share.
#pragma once

#include <set>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/states.hpp"
#include "interpreter/graphs/modules/trees.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/cycles.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

struct Captures;

/// `module NAME(...) { ... }`; calling it makes an instance.
struct ModuleObject final : Object {
  ast::Held<ast::ModuleStmt> code;
  ScopePtr closure;
  std::vector<Name> methods;  ///< the names of the code's methods
  bool plain = false;         ///< its configuration accepts positional values without a check
  std::string type_name() const override { return "module"; }
  std::string repr(Interpreter&) override { return "<module " + code->name + ">"; }
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  Value call_by_position(Interpreter& in, const Value* values, size_t count) override;
  bool takes_by_position(size_t count) const override { return plain && count == code->parameters.size(); }
  bool admits(const Value* values, size_t count) const override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override { return {"name", "doc"}; }
  std::string note_on_missing(std::string_view name) const override;
  void references(References& to) const override { to.add(closure); }

 private:
  Ref<struct ModuleInstance> new_instance() const;
  Value finished(Interpreter& in, Ref<struct ModuleInstance> m, const Span& at) const;
};

/// A configured module. Its scope holds the configuration, the fields and the methods.
struct ModuleInstance final : Object {
  static constexpr ClassTag class_tag = ClassTag::instance;
  ast::Held<ast::ModuleStmt> code;
  ScopePtr scope;
  bool outlined = false;
  bool cached = false;

  ~ModuleInstance() override;
  std::string type_name() const override { return code->name; }
  std::string repr(Interpreter& in) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  std::vector<std::string> own_names() const override;
  std::string note_on_missing(std::string_view name) const override;
  void set_member(Interpreter& in, std::string_view name, Value value) override;
  std::function<void()> state() override;
  void references(References& to) const override { to.add(scope); }
  bool callable() const override { return true; }
  /// Inlines the build into the graph that is being built, or calls the outlined graph.
  Value call(Interpreter& in, Arguments args) override;
  const ast::Function* method(std::string_view name) const;
  /// Whether a method replaces a transform. Then the build stays a graph where it is called.
  bool replaces_transforms() const { return method("build_grad") || method("build_jvp") || method("build_batch"); }
  /// Whether a name of the scope is a parameter of the module.
  bool is_configured(Name name) const;
  /// Names that hold the user's values (no methods): fields first, then the configuration.
  std::vector<std::string> field_names() const;
};
using ModuleInstancePtr = Ref<ModuleInstance>;

/// A method as the instance's scope holds it. The method's reference to the instance is weak there, since the instance
/// owns the scope. A method that a program holds keeps its instance alive.
struct MethodObject final : Object {
  static constexpr ClassTag class_tag = ClassTag::method;
  ast::Held<ast::Function> code;
  WeakRef<ModuleInstance> weak;
  ModuleInstancePtr strong;
  ModuleInstancePtr instance() const { return strong ? strong : weak.lock(); }
  std::string type_name() const override { return "function"; }
  std::string repr(Interpreter&) override;
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  void references(References& to) const override { to.add(strong); }
};
/// The instance's own method with a name in its scope. Null for a field, which may hold a method of another instance.
inline const MethodObject* own_method(const Value& v) {
  auto* m = v.as<MethodObject>();
  return m && !m->strong ? m : nullptr;
}

/// `outlined def`: calls with equal kinds of arguments share one graph.
struct OutlinedFunctionObject final : Object {
  ast::Held<ast::Function> code;
  ScopePtr closure;
  std::vector<Value> defaults;
  std::string type_name() const override { return "function"; }
  std::string repr(Interpreter&) override { return "<outlined function " + code->name + ">"; }
  bool callable() const override { return true; }
  Value call(Interpreter& in, Arguments args) override;
  void references(References& to) const override {
    to.add(closure);
    for (const Value& v : defaults) to.add(v);
  }
};

// ---- builds

/// An unfinished graph: its params by dotted name, and the names of the modules below its root.
struct BuildRoot {
  std::shared_ptr<Ir> ir;
  Graph* graph = nullptr;
  ModuleInstancePtr instance;  ///< null for graphs of plain functions
  bool captures = false;       ///< modules called here may declare params in the enclosing builds
  /// The names in the program, whose modules make variables. Set for the main graph.
  ScopePtr program;
  /// The root in which its modules make variables. Set for the outermost function that a program builds.
  std::shared_ptr<BuildRoot> of_main;
  TreePtr factories = make_tree(TreeKind::factories);
  std::unordered_map<std::string, Tensor*> params;

  /// The path of a module: "blocks.0.up", "" for the root. Null if no field reaches the instance.
  const std::string* path_of(const ModuleInstance* m);

 private:
  void scan();
  std::unordered_map<const ModuleInstance*, std::string> paths_;
};

/// A state that a running body declared.
struct StateOfBuild {
  Tensor* holder = nullptr;
  Span next;  ///< of its `next` in this call, if there was one
};

/// One running body.
struct BuildState {
  std::shared_ptr<BuildRoot> root;       ///< null in a program's body, where params are not allowed
  std::string prefix;                    ///< "", "fc1."
  bool named = true;                     ///< false if no field reaches the instance
  std::string what;                      ///< "Linear.build"
  bool training = false;                 ///< what `self.training` is
  std::map<std::string, Span> declared;  ///< by `param` and `state` in this call, and where
  std::map<std::string, StateOfBuild> states;
};

/// The graph world of one interpreter.
struct GraphWorld {
  std::vector<std::shared_ptr<BuildState>> builds;  ///< running builds, innermost last

  /// Holds everything whose address a key contains, so that no other object can get this address. The objects
  /// themselves may be destroyed, because some of them own the Ir.
  struct Addresses {
    std::vector<WeakRef<const Object>> objects;
    std::vector<Array> arrays;
    std::vector<std::shared_ptr<const void>> code;
  };
  struct Shared {
    Graph* graph = nullptr;
    TreePtr factories;
    Addresses of_key;
    std::vector<size_t> captured;  ///< for each captured input: the number of its tensor in the key's walk
  };
  struct PerIr {
    std::weak_ptr<Ir> ir;
    WeakRef<Scope> fields;                           ///< the names in the program's body
    std::unordered_map<std::string, Shared> shared;  ///< outlined and cached graphs by key
    std::unordered_map<const Graph*, GraphFacts> graphs;
    /// The modules whose ops are in a graph, by the scopes in their names: "blocks/0", and "" for the graph's own.
    std::map<std::pair<const Graph*, std::string>, ast::Held<ast::ModuleStmt>> modules;
    std::unordered_map<const Graph*, std::vector<StateValue>> states;
    /// The `stream` statements, by the path in the tree of a stream's spec.
    std::map<std::pair<ast::Held<ast::Stmt>, std::string>, Stream*> streams;
    /// A tensor or stream that a statement declared, and the body in which it did.
    struct Declared {
      const Tensor* tensor = nullptr;  ///< for a stream, its handle
      bool stream = false;
      Span place;
      FramePtr body;
    };
    struct DeclaredBy {
      ast::Held<ast::Stmt> statement;
      std::vector<Declared> all;
    };
    std::unordered_map<std::string, std::vector<DeclaredBy>> declared;  ///< by name, in order of first declaration
    void add_declared(const std::string& name, const ast::Stmt& by, Declared what);
  };
  std::unordered_map<const Ir*, PerIr> irs;
  int building_members = 0;  ///< depth of builds of members (families.hpp), whose variables draw no values

  PerIr& of(const std::shared_ptr<Ir>& ir);
  BuildState* current() { return builds.empty() ? nullptr : builds.back().get(); }
};

/// The source of a graph: a def, or the build of an instance.
struct GraphSource {
  std::string title;  ///< "Linear"
  std::string what;   ///< "Linear.build"
  std::string frame;  ///< "Linear.build, outlined as fc2 in Net.build"
  ast::Held<ast::Function> code;
  ScopePtr closure;
  std::vector<Value> defaults;  ///< defaults of a def, evaluated where the def was made
  ModuleInstancePtr self;
  bool refs_only = false;        ///< in-place changes of arguments that are not `ref` are refused
  bool captures = false;         ///< tensors of enclosing graphs become inputs
  std::optional<bool> training;  ///< `self.training` in it; by default that of the running build
  /// Replaces `code`: the value that is called with the inputs, and the parameters that name them.
  Value callee;
  std::shared_ptr<const std::vector<ast::Parameter>> callee_parameters;
  const std::vector<ast::Parameter>& parameters() const { return code ? code->parameters : *callee_parameters; }
};
GraphSource source_of_instance(const ModuleInstancePtr& m);
/// The source for any callable value, with inputs for these parameters.
GraphSource source_of_callee(const Value& callee, std::string title, const std::vector<std::string>& parameters);
/// Removes `training = ...` from the arguments, unless the source has a parameter with this name.
void take_training(Interpreter& in, GraphSource& source, Arguments& args);
/// `self.training` in the graph of a source.
bool is_training(Interpreter& in, const GraphSource& source);
/// The source for a def, a method or an instance. Throws for other values.
GraphSource source_of(const Value& callee);
/// Removes and returns the first argument of create_graph. The other arguments belong to the graph.
Value take_callee(Arguments& args);

/// The origin of a graph: the build of an instance, and its arguments, with specs in place of tensors.
struct GraphOrigin final : Object {
  GraphSource source;
  Arguments args;
  GraphOrigin(GraphSource s, Arguments a) : source(std::move(s)), args(std::move(a)) {}
  std::string type_name() const override { return "origin of a graph"; }
  std::string repr(Interpreter&) override { return source.what; }
  void references(References& to) const override {
    to.add(source.closure);
    to.add(source.self);
    for (const Value& v : source.defaults) to.add(v);
    for (const Value& v : args.positional) to.add(v);
    for (const NamedArg& n : args.named) to.add(n.value);
  }
};
inline const GraphOrigin* origin_of(const GraphObject& g) { return static_cast<const GraphOrigin*>(g.origin.get()); }
/// The value of a graph that an instance's build made for these arguments.
Ref<GraphObject> graph_of_instance(Interpreter& in, const GraphSource& source, const Arguments& args,
                                   const struct BuiltGraph& built);

struct BuiltGraph {
  Graph* graph = nullptr;
  TreePtr factories;
  BoundInputs captured;  ///< tensors of the enclosing graph, by input
};
/// Makes a graph in the current Ir: tensors and specs among the arguments become inputs, other arguments are constants.
BuiltGraph build_graph(Interpreter& in, const GraphSource& source, Arguments args);
/// Makes or finds a graph through the cache of outlined graphs. A separate cache becomes part of the key.
BuiltGraph shared_graph(Interpreter& in, const GraphSource& source, const Arguments& args, const Value& cache = {});
/// Calls the shared graph. Its params become params of the graph that is being built, under `prefix`.
Value call_outlined(Interpreter& in, const GraphSource& source, Arguments args, BuildState* state);

/// Adds a graph input for a param of the running build, and its factory if it has one.
Tensor* add_param(Interpreter& in, BuildRoot& root, const std::string& key, const TensorSpec& spec, bool by_ref,
                  const Value& factory);
/// `add_variable_inputs(name, factories)`.
Value add_variable_inputs(Interpreter& in, const Arguments& args);

/// Throws if an op made since `first` changes one of the tensors, or an alias of one, in place.
void check_updates(const Graph& graph, size_t first, const std::vector<std::pair<Tensor*, std::string>>& protected_args,
                   const std::string& what);

/// A parameter with the values that a call passes. A `rest` parameter takes several values; `options` takes several
/// named values.
struct GivenArgument {
  const ast::Parameter* parameter;
  std::vector<Value*> values;
  std::vector<std::string> names;  ///< names of the `options`
};
std::vector<GivenArgument> match_arguments(const std::vector<ast::Parameter>& parameters, Arguments& args);
bool is_tensor_like(const Value& v);  ///< a tensor or a spec

/// The key of a graph that calls share (outlining.cpp). `reached_by_names`: the tensors that names in the code reach,
/// each once, in the order of the walk.
std::string sharing_key(Interpreter& in, const GraphSource& source, const Arguments& args,
                        GraphWorld::Addresses& of_key, std::vector<Value>& reached_by_names);

/// The tensors that names in a function's code reach; a graph of the function may capture these. each_alias: calls
/// `stop` with a tensor and then with each tensor that it aliases, wholly or in part, until `stop` returns true.
std::vector<Value> tensors_reached_by(Interpreter& in, const Value& f);
void each_alias(Tensor* t, const std::function<bool(Tensor*)>& stop);
bool is_memory_of(Tensor* t, const Tensor* of);
/// Adds an input for a tensor of an enclosing graph.
Tensor* add_captured(Graph& graph, const Tensor& outer);
/// Turns captured inputs that the graph changes in place into references. Throws if the enclosing graph, whose captures
/// are `around`, may not change them (captures.cpp).
void pass_changes_by_reference(const Graph& graph, const Captures& captures, const Captures* around,
                               const std::string& what);

/// Keeps the stacks of builds balanced while a body runs.
class BuildScope {
 public:
  BuildScope(Interpreter& in, std::shared_ptr<BuildState> state);
  ~BuildScope();
  BuildScope(const BuildScope&) = delete;
  BuildScope& operator=(const BuildScope&) = delete;

 private:
  Interpreter& in_;
};
/// Makes a graph the target of ops during its lifetime. Name scopes start anew in it.
class TargetScope {
 public:
  TargetScope(Interpreter& in, std::shared_ptr<Ir> ir, Graph* graph, std::shared_ptr<Captures> captures = nullptr);
  ~TargetScope();
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

 private:
  Interpreter& in_;
  std::shared_ptr<Ir> ir_;
  std::vector<std::string> scopes_;
};

}  // namespace pxl
