// Programs: declares them, builds their Irs, and manages the implicit program of a file's top level.
#include "interpreter/graphs/programs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/families.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/replicas.hpp"
#include "interpreter/graphs/variables/variable_paths.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/language/graph_statements.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/names_bound.hpp"
#include "interpreter/syntax/statement_parts.hpp"
#include "interpreter/values/argument_names.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/graph/transaction.hpp"

namespace pxl {
namespace {

/// Finds the place where a statement first binds a name.
class BindingPlace final : public StatementVisitor {
 public:
  explicit BindingPlace(const std::string& name) : name_(name) {}
  Span found;
  bool binds = false;

  void target(const ast::Expr& target, bool) override {
    std::vector<const ast::Expr*> todo{&target};
    while (!todo.empty() && !binds) {
      const ast::Expr* e = todo.back();
      todo.pop_back();
      if (e->kind == ast::ExprKind::name) name(static_cast<const ast::NameExpr*>(e)->name, e->span);
      if (e->kind == ast::ExprKind::tuple || e->kind == ast::ExprKind::list || e->kind == ast::ExprKind::starred)
        children(*e, todo);
    }
  }
  void name(const std::string& bound, const Span& at) override {
    if (binds || bound != name_) return;
    binds = true;
    found = at;
  }
  void block(const ast::Block& b) override {
    for (const ast::Stmt* s : b.statements) {
      if (binds) return;
      visit_parts(*s, *this);
      if (binds && !found) found = s->span;  // the name has no place of its own
    }
  }

 private:
  const std::string& name_;
};

[[noreturn]] void refuse_member_name(const ast::Function& f, const std::string& name) {
  Error e("program " + f.name + ": `" + name + "` is a member of every program's ir, so it can't be bound here",
          {name == "replication_factor" || name == "num_host_transfers" ? "`ir." + name + " = ...` sets the member"
                                                                        : std::string("choose another name")});
  e.as(codes::program);
  BindingPlace place(name);
  if (f.body) place.block(*f.body);
  e.locate(place.found ? place.found : f.span, nullptr);
  throw e;
}

}  // namespace

void declare_program(Interpreter& in, const ast::ProgramStmt& s, Activation& a) {
  if (a.kind == Activation::Kind::program)
    throw Error("program " + s.function->name + " is inside a program", {"declare it at the top level of the file"})
        .as(codes::program);
  if (a.kind != Activation::Kind::file && a.kind != Activation::Kind::test)
    throw Error("program " + s.function->name + " is declared inside a body",
                {"declare it at the top level of the file"})
        .as(codes::program);
  auto p = make_ref<ProgramObject>();
  p->code = ast::held(s);
  p->closure = a.scope;
  bind_name(in, a, s.function->name, p);
}

std::string ProgramObject::repr(Interpreter&) { return "<program " + code->function->name + ">"; }

std::optional<Value> ProgramObject::member(Interpreter&, std::string_view name) {
  if (name == "name") return Value(code->function->name);
  if (name == "doc") return Value(code->function->doc);
  return std::nullopt;
}

namespace {

/// A program's Ir, which is taken back unless its body ends: values may refer to it.
struct Unfinished {
  Ir& ir;
  bool ended = false;
  ~Unfinished() {
    if (!ended) ir.take_back_since(*Ir().mark());
  }
};

// The first parameter whose value is unknown, or null.
const std::string* unknown_parameter(const ast::Function& f, const Arguments& args) {
  for (size_t i = 0; i < args.positional.size(); ++i)
    if (holds_unknown(args.positional[i]) && !f.parameters.empty())
      return &f.parameters[std::min(i, f.parameters.size() - 1)].name;
  for (const NamedArg& n : args.named)
    if (holds_unknown(n.value)) return &n.name;
  return nullptr;
}

/// A check builds a program with free sizes for others, too.
void try_other_sizes(Interpreter& in, const IrObject& exemplar) {
  Sizes doubled = exemplar.family->exemplar;
  for (auto& [name, size] : doubled) size = size == 0 ? 1 : 2 * size;
  build_member(in, exemplar, doubled);
  check_in_progress(in)->tried.push_back(fmt::format("program {} is checked for {} and for {}", exemplar.ir->name(),
                                                     text(exemplar.family->exemplar), text(doubled)));
}

}  // namespace

Value ProgramObject::call(Interpreter& in, Arguments args) {
  const ast::Function& f = *code->function;
  if (graphs_of(in).has_target() && graphs_of(in).targets().back().ir != graphs_of(in).implicit_ir())
    throw Error("program " + f.name + " is called inside program " + graphs_of(in).targets().back().ir->name(),
                {"a program builds an ir of its own: call it at the top level, or share code with a def or a module"})
        .as(codes::program);
  if (graphs_of(in).has_target() && !graphs_of(in).targets().back().graph->is_main())
    throw Error("program " + f.name + " is called inside the build of " +
                shown_name(*graphs_of(in).targets().back().graph))
        .as(codes::program);
  if (CheckState* check = check_in_progress(in)) {
    if (check->expecting > 0) check->expected.insert(f.name);
    if (const std::string* unknown = unknown_parameter(f, args)) {
      note_unbuilt(in, f.name, "its parameter `" + *unknown + "`");
      return unknown_value();
    }
  }
  const Arguments given = args;
  const Ref<IrObject> result = build(in, std::move(args));
  if (check_in_progress(in)) {
    if (lacks_part_noted(in, *result->ir)) return unknown_value();
    check_in_progress(in)->irs.push_back(result->ir);
  }
  CallFrame frame(in, "program " + f.name, given.span);
  make_family(in, *result, static_ref_cast<ProgramObject>(shared_from_this()), given);
  if (result->family && check_in_progress(in)) try_other_sizes(in, *result);
  return result;
}

namespace {

/// A parameter of kind size, which is an int here: the name `size` may have another meaning.
void check_size(const ast::Function& f, const ast::Parameter& p, const Value& v, const std::vector<NamedArg>& named) {
  if (is_unknown(v) || (v.is_int() && v.as_int() >= 0)) return;
  Error e(fmt::format("program {}: `{}` is a size, an int from 0 on, got {}", f.name, p.name,
                      v.is_int() ? std::to_string(v.as_int()) : with_article(v.type_name())));
  if (v.is_none()) e.first().notes.push_back(fmt::format("a size that the call leaves out is free: `{}()`", f.name));
  const auto given = std::find_if(named.begin(), named.end(), [&](const NamedArg& n) { return n.name == p.name; });
  if (given != named.end() && given->span) {
    e.locate(given->span, nullptr);
    if (v.is_none()) e.offer(with_comma(given->span), "", fmt::format("Remove `{}`", given->span.text()));
  }
  throw std::move(e.as(codes::annotation));
}

}  // namespace

Ref<IrObject> ProgramObject::build(Interpreter& in, Arguments args) {
  const ast::Function& f = *code->function;
  auto result = make_ref<IrObject>();
  result->ir = std::make_shared<Ir>(f.name);
  result->ir->called_at = args.span;
  result->fields = make_ref<Scope>(closure);
  result->fields->own = &f.own;
  for (const ast::Parameter& p : f.parameters)
    if (std::find(ir_member_names().begin(), ir_member_names().end(), p.name) != ir_member_names().end())
      refuse_member_name(f, p.name);
  CallFrame frame(in, "program " + f.name, args.span);
  Unfinished unfinished{*result->ir};
  try {
    std::vector<ast::Parameter> parameters = f.parameters;
    for (ast::Parameter& p : parameters)
      if (is_size(p)) p.annotation = nullptr;
    const std::vector<NamedArg> named = args.named;
    bind_parameters(in, f.name, parameters, std::move(args), result->fields, closure);
    for (const ast::Parameter& p : f.parameters)
      if (is_size(p)) check_size(f, p, *result->fields->find_here(p.name), named);
    TargetScope target(in, result->ir, &result->ir->main());
    BuildScope scope(in, std::make_shared<BuildState>());
    graphs_of(in).world().of(result->ir).fields = result->fields;
    Activation a;
    a.scope = result->fields;
    a.kind = Activation::Kind::program;
    run_function(in, f, a);
    store_states(in, result->ir);
    name_variables(*result->ir, *result->fields);
    unfinished.ended = true;
  } catch (Error& e) {
    e.locate(position_of(in).here, position_of(in).frames);
    throw;
  }
  for (const std::string& name : result->fields->names())
    if (std::find(ir_member_names().begin(), ir_member_names().end(), name) != ir_member_names().end())
      refuse_member_name(f, name);
  return result;
}

// ---- irs

void IrObject::references(References& to) const {
  to.add(fields);
  if (!family) return;
  to.add(family->program);
  for (const Value& v : family->given.positional) to.add(v);
  for (const NamedArg& n : family->given.named) to.add(n.value);
}

namespace {

Value stream_list(const std::shared_ptr<Ir>& ir, std::optional<bool> to_device) {
  std::vector<Value> out;
  for (const auto& s : ir->streams())
    if (!to_device || (s->to_device == *to_device && s->used)) out.push_back(make_ref<StreamObject>(ir, s.get()));
  return make_list(std::move(out));
}

using In = Interpreter&;
using IrRef = IrObject&;
using A = const Arguments&;
using Got = std::optional<Value>;

Value create_graph(In in, IrRef self, A given) {
  Arguments args = given;
  const Value callee = take_callee(args);
  GraphSource source =
      callee.as<ModuleInstance>() || callee.as<ModuleObject>() ? source_of(callee) : source_of_function(callee, args);
  take_training(in, source, args);
  std::optional<TargetScope> other;
  if (!graphs_of(in).has_target() || graphs_of(in).targets().back().ir != self.ir)
    other.emplace(in, self.ir, &self.ir->main());
  const BuiltGraph built = build_graph(in, source, std::move(args));
  if (auto leaves = built.factories->leaves(); !leaves.empty())
    throw Error("ir.create_graph: " + source.what + " has params with initial values (`" + leaves.front().first + "`)",
                {"`facts, graph = module.create_graph(...)` also gives the factories of its variables"})
        .as(codes::program);
  return graph_value(self.ir, built.graph, built.captured);
}

constexpr Member<IrObject>::Get ir_name = [](In, IrRef i) -> Got { return Value(i.ir->name()); };
constexpr Member<IrObject> ir_rows[] = {
    {"name", "The name of the program.", "train().name", ir_name},
    {"id", "The name of the program: name, by PopXL's name.", "train().id", ir_name},
    {"replication_factor", "The number of replicas that run the program. It can be set while the program is built.",
     "train().replication_factor",
     [](In, IrRef i) -> Got { return Value(static_cast<int64_t>(i.ir->replication_factor)); }},
    {"num_host_transfers",
     "The number of transfers of each stream in one run, 1 by default. It can be set while the program is built.",
     "train().num_host_transfers", [](In, IrRef i) -> Got { return Value(i.ir->num_host_transfers.value_or(1)); }},
    {"main_graph", "The graph that a run executes.", "train().main_graph",
     [](In, IrRef i) -> Got { return graph_value(i.ir, &i.ir->main()); }},
    {"create_graph", "(function, *inputs, name = value, ...)",
     "A graph made from a def or a module without params: tensors and specs are inputs, other arguments are constants.",
     "ir.create_graph((a, b) => a * b, float32[2], float32[2])", create_graph},
    {"create_empty_graph", "(name = 'graph')", "A graph without ops, to which `with graph { ... }` adds some.",
     "ir.create_empty_graph('by_hand')", [](In in, IrRef i, A args) { return create_empty_graph(in, i.ir, args); }},
    {"get_all_h2d_streams", "()", "A list of the streams that bring arrays to the device and are used.",
     "train().get_all_h2d_streams()", [](In, IrRef i, A) { return stream_list(i.ir, true); }},
    {"get_all_d2h_streams", "()", "A list of the streams that bring arrays to the host and are used.",
     "train().get_all_d2h_streams()", [](In, IrRef i, A) { return stream_list(i.ir, false); }},
    {"replica_grouping", "(stride = 1, group_size = none, assignment = none)",
     "Groups of replicas, for variables and collectives: the members of a group are `stride` apart.", "",
     [](In in, IrRef i, A args) { return make_replica_grouping(in, *i.ir, args); }},
};
constexpr std::span<const Member<IrObject>> ir_table(ir_rows);

/// These members come after the names that the program binds, since a program may use these names itself.
constexpr Member<IrObject> late_rows[] = {
    {"graphs", "A list of the graphs; a name that the program binds comes first.", "train().graphs",
     [](In, IrRef i) -> Got {
       std::vector<Value> out;
       for (const auto& g : i.ir->graphs()) out.push_back(graph_value(i.ir, g.get()));
       return make_list(std::move(out));
     }},
    {"variables", "A list of the variables; a name that the program binds comes first.", "train().variables",
     [](In, IrRef i) -> Got {
       std::vector<Value> out;
       for (Tensor* t : i.ir->variables()) out.push_back(tensor_value(i.ir, t));
       return make_list(std::move(out));
     }},
    {"streams", "A list of the streams; a name that the program binds comes first.", "train().streams",
     [](In, IrRef i) -> Got { return stream_list(i.ir, std::nullopt); }},
};
constexpr std::span<const Member<IrObject>> late_table(late_rows);

}  // namespace

MemberTable program_ir_members() {
  MemberTable all = member_table(
      "ir", "A program that was called: `train()`. Names that its body binds are members too: `train().loss`.",
      "program train {\n  stream in x: float32[2]\n  w = variable([1.0, 2.0], name = 'w')\n"
      "  stream out y = host_load(x) * w\n}",
      ir_table);
  for (const Member<IrObject>& row : late_table) all.rows.push_back(&row.info);
  return all;
}

const std::vector<std::string>& ir_member_names() {
  static const auto& names = never_destroyed([] {
    std::vector<std::string> all;
    append_names(all, ir_table);
    return all;
  }());
  return names;
}

namespace {

/// The `ir` of the prelude is the Ir that is being built; `main` is the top level's Ir.
struct CurrentIrObject final : Object {
  const bool top_level;
  explicit CurrentIrObject(bool top) : top_level(top) {}
  std::string type_name() const override { return "ir"; }
  Value now(Interpreter& in) const {
    return ir_value(in, top_level ? graphs_of(in).top_level_ir() : graphs_of(in).current_ir());
  }
  std::string repr(Interpreter& in) override { return now(in).object()->repr(in); }
  std::optional<Value> member(Interpreter& in, std::string_view name) override {
    return now(in).object()->member(in, name);
  }
  std::vector<std::string> member_names() const override { return ir_member_names(); }
  void set_member(Interpreter& in, std::string_view name, Value v) override {
    now(in).object()->set_member(in, name, std::move(v));
  }
  bool equals(Interpreter& in, const Value& other) override { return now(in).object()->equals(in, other); }
};

}  // namespace

Value ir_value(Interpreter& in, const std::shared_ptr<Ir>& ir) {
  auto v = make_ref<IrObject>();
  v->ir = ir;
  v->fields =
      ir == graphs_of(in).implicit_ir() ? evaluator_of(in).file_scope() : graphs_of(in).world().of(ir).fields.lock();
  return v;
}

IrObject* to_ir(Interpreter& in, const Value& v, const char* where, Value& holder) {
  if (auto* ir = v.as<IrObject>()) return ir;
  if (auto* current = v.as<CurrentIrObject>()) {
    holder = current->now(in);
    if (!graphs_of(in).in_program()) store_states(in, holder.as<IrObject>()->ir);
    return holder.as<IrObject>();
  }
  if (auto* p = v.as<ProgramObject>())
    type_error(fmt::format("{} takes an ir: call the program, `{}({})`", where, p->code->function->name,
                           p->code->function->parameters.empty() ? "" : "..."));
  type_error(std::string(where) + " takes an ir, got " + with_article(v.type_name()));
}

std::string IrObject::repr(Interpreter&) { return "Ir[" + ir->name() + "]"; }

std::optional<Value> IrObject::member(Interpreter& in, std::string_view name) {
  if (std::optional<Value> found = member_of_table(in, ir_table, *this, name)) return found;
  if (fields)
    if (const Value* v = fields->find_here(name)) return *v;
  return member_of_table(in, late_table, *this, name);
}

std::vector<std::string> IrObject::member_names() const {
  std::vector<std::string> names = ir_member_names();
  append_names(names, late_table);
  for (std::string& name : own_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> IrObject::own_names() const {
  std::vector<std::string> names = fields ? fields->names() : std::vector<std::string>();
  std::erase(names, "");
  return names;
}

void IrObject::set_member(Interpreter&, std::string_view name, Value value) {
  if (ir->frozen)
    throw Error("the program `" + ir->name() + "` belongs to a session already: `" + std::string(name) +
                "` can't change")
        .as(codes::complete);
  if (name == "replication_factor") return set_replication_factor(*ir, to_index(value, "replication_factor"));
  if (name == "num_host_transfers") {
    int64_t n = to_index(value, "num_host_transfers");
    if (n < 1) throw Error("num_host_transfers must be at least 1, got " + std::to_string(n)).as(codes::value);
    GraphTransaction::changing(*ir);
    ir->num_host_transfers = n;
    return;
  }
  std::string hint = did_you_mean(name, {"replication_factor", "num_host_transfers"});
  throw Error("`" + std::string(name) + "` of an ir can't be set" + (hint.empty() ? "" : "; " + hint),
              {"replication_factor and num_host_transfers can; other names are bound in the program's body"})
      .as(codes::unknown_member);
}

bool IrObject::equals(Interpreter&, const Value& other) {
  auto* o = other.as<IrObject>();
  return o && o->ir == ir;
}
std::optional<std::string> IrObject::hash_key() const {
  return "r" + std::to_string(reinterpret_cast<uintptr_t>(ir.get()));
}

void bind_ir_builtin(Scope& prelude) {
  prelude.bind("ir", make_ref<CurrentIrObject>(false));
  prelude.bind("main", make_ref<CurrentIrObject>(true));
}

}  // namespace pxl
