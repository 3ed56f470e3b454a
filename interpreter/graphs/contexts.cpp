// The contexts of graph building: in_sequence, name_scope, ipu, io_tiles.
#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/transaction.hpp"

namespace pxl {
namespace {

struct InSequenceObject final : Object {
  InSequence::Mode mode;
  std::vector<std::unique_ptr<InSequence>> active;  // one for each entry into the context
  explicit InSequenceObject(InSequence::Mode m) : mode(m) {}
  std::string type_name() const override { return "in_sequence"; }
  bool is_context() const override { return true; }
  Value enter(Interpreter& in) override {
    active.push_back(std::make_unique<InSequence>(*graphs_of(in).target().graph, mode));
    return {};
  }
  void leave(Interpreter&, bool) override { active.pop_back(); }
};

struct NameScopeObject final : Object {
  std::string name;
  explicit NameScopeObject(std::string n) : name(std::move(n)) {}
  std::string type_name() const override { return "name_scope"; }
  bool is_context() const override { return true; }
  Value enter(Interpreter& in) override {
    Ir& ir = *graphs_of(in).target().ir;
    GraphTransaction::changing(ir);
    ir.name_scopes.push_back(name);
    return {};
  }
  void leave(Interpreter& in, bool) override {
    auto& scopes = graphs_of(in).target().ir->name_scopes;
    if (!scopes.empty()) scopes.pop_back();
  }
};

struct IpuObject final : Object {
  std::optional<int> ipu;
  std::vector<std::pair<std::shared_ptr<Ir>, std::optional<int>>> before;
  explicit IpuObject(std::optional<int> n) : ipu(n) {}
  std::string type_name() const override { return "ipu"; }
  bool is_context() const override { return true; }
  Value enter(Interpreter& in) override {
    std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
    GraphTransaction::changing(*ir);
    before.emplace_back(ir, ir->ipu);
    ir->ipu = ipu;
    return {};
  }
  void leave(Interpreter&, bool) override {
    before.back().first->ipu = before.back().second;
    before.pop_back();
  }
};

struct IoTilesObject final : Object {
  std::vector<std::pair<std::shared_ptr<Ir>, bool>> before;
  std::string type_name() const override { return "io_tiles"; }
  bool is_context() const override { return true; }
  Value enter(Interpreter& in) override {
    std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
    GraphTransaction::changing(*ir);
    before.emplace_back(ir, ir->io_tiles);
    ir->io_tiles = true;
    return {};
  }
  void leave(Interpreter&, bool) override {
    before.back().first->io_tiles = before.back().second;
    before.pop_back();
  }
};

}  // namespace

void bind_context_builtins(Scope& p) {
  define(
      p, no_effects,
      {"in_sequence(enabled = true)",
       "Context: ops run in the order written. false: unordered among themselves, \"pass\": left out of the order.",
       R"(program p {
  variable count: float32[] = 0
  with in_sequence() {
    add_(count, 1.0)
    stream out y = count + 0
  }
}
session = Session(p())
session.run()
session.run())"},
      [](Interpreter&, Arguments args) -> Value {
        ArgReader a(args);
        Value v = a.value_or("enabled", Value(true));
        if (v.is_bool()) return make_ref<InSequenceObject>(v.as_bool() ? InSequence::Mode::yes : InSequence::Mode::no);
        if (const std::string* s = v.as_string(); s && *s == "pass")
          return make_ref<InSequenceObject>(InSequence::Mode::pass);
        type_error("in_sequence takes true, false or \"pass\", got " + (v.as_string() ? "\"" + *v.as_string() + "\""
                                                                        : v.is_none() ? std::string("none")
                                                                                      : with_article(v.type_name())));
      });
  define(p, no_effects,
         {"name_scope(name)", "Context: names of tensors made inside begin with `name/`.",
          R"(with name_scope("encoder") { x = constant([1.0], name = "x") }
x.name)"},
         [](Interpreter&, Arguments args) -> Value {
           ArgReader a(args);
           std::string name = a.string("name");
           if (name.empty()) throw Error("name_scope takes a name, got an empty text");
           return make_ref<NameScopeObject>(std::move(name));
         });
  define(p, no_effects, {"ipu(n)", "Context: ops made inside run on IPU n.", R"(program p {
  variable w: float32[2] = 3
  with ipu(0) { y = w * 2 }
  stream out z = y
}
Session(p()).run())"},
         [](Interpreter&, Arguments args) -> Value {
           ArgReader a(args);
           if (!a.has("n") && !args.positional.empty() && args.positional[0].is_none())
             return make_ref<IpuObject>(std::nullopt);
           int64_t n = a.integer("n");
           if (n < 0 || n >= 4096) throw Error("ipu takes a number from 0 to 4095, got " + std::to_string(n));
           return make_ref<IpuObject>(static_cast<int>(n));
         });
  define(p, no_effects,
         {"io_tiles()", "Context: ops made inside run on the tiles kept for input and output.", R"(program p {
  stream in x: float32[2]
  with io_tiles() { loaded = host_load(x) }
  stream out y = loaded * 2
}
Session(p()).run(x = [1, 2]))"},
         [](Interpreter&, Arguments args) -> Value {
           ArgReader a(args);
           return make_ref<IoTilesObject>();
         });
}

}  // namespace pxl
