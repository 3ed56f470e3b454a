// Commands for graphs.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "interpreter/commands/commands.hpp"
#include "interpreter/commands/live_weights.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/tools/graph_page.hpp"
#include "interpreter/tools/graph_view.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/text/text.hpp"
#include "runtime/execute/measurement.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/tiles/estimate.hpp"
#include "runtime/tiles/move_counts.hpp"

namespace pxl {
namespace {

/// The graph of a value. Programs without parameters are built.
const Graph& graph_of(Interpreter& in, Value v, const char* where) {
  if (v.as<ProgramObject>()) v = invoke(in, v);
  if (auto* ir = v.as<IrObject>()) return ir->ir->main();
  if (auto* s = v.as<SessionObject>()) return s->ir->main();
  return *to_graph(v, where)->graph;
}

void with_graph(Console& console, std::string_view text, const char* where,
                const std::function<void(const Graph&)>& use) {
  if (text.empty()) {
    const std::shared_ptr<Ir> ir = console.engine().ir();
    if (!ir || ir->main().ops().empty())
      return console.print_error(
          fmt::format("the top level has no graph: it has no ops; `:{} NAME` takes another "
                      "(`:graphs` lists them)",
                      where));
    return use(ir->main());
  }
  console.report(
      console.engine().aside(text, [&](const Value& v) { use(graph_of(console.engine().interpreter(), v, where)); }));
}

}  // namespace

void command_schedule(Console& console, std::string_view arguments) {
  with_graph(console, arguments, "schedule", [&](const Graph& g) { console.print_schedule(print_schedule(g)); });
}

void command_graphs(Console& console, std::string_view) {
  std::vector<std::pair<std::string, const Ir*>> irs;
  std::set<const Ir*> seen;
  const std::shared_ptr<Ir> top = console.engine().ir();
  if (top && seen.insert(top.get()).second) irs.emplace_back("top level", top.get());
  for (const auto& [name, value] : console.engine().names()) {
    const Ir* ir = nullptr;
    if (auto* o = value.as<IrObject>()) ir = o->ir.get();
    if (auto* s = value.as<SessionObject>()) ir = s->ir.get();
    if (ir && seen.insert(ir).second) irs.emplace_back(name, ir);
  }
  if (irs.empty()) return console.print("no graphs yet");
  for (const auto& [name, ir] : irs) {
    console.print(fmt::format("{} ({})", name, ir->name()));
    for (const auto& g : ir->graphs())
      console.print(fmt::format(
          "  {:<28} {}, {}, {}, {}", g->is_main() ? "main" : g->id(), counted(g->inputs().size(), "input"),
          counted(g->outputs().size(), "output"), counted(g->ops().size(), "op"),
          g->is_main() ? counted(ir->variables().size(), "variable")
                       : "called " + (g->call_sites().size() == 1 ? "once" : counted(g->call_sites().size(), "time"))));
  }
}

void command_grad(Console& console, std::string_view arguments) {
  if (arguments.empty()) return console.print_error(":grad: a graph is required");
  std::string shown;
  const Outcome o = console.engine().aside(arguments, [&](const Value& v) {
    Interpreter& in = console.engine().interpreter();
    const Value gradient = invoke(in, *evaluator_of(in).prelude()->find_here("autodiff"), {v});
    shown = str_of(in, member_of(in, gradient, "graph", {}));
  });
  console.report(o);
  if (o.ok()) console.print_schedule(shown);
}

namespace {

/// The page of a graph, with the weights of the user's session.
std::string page_of(Console& console, const Graph& g) {
  return graph_page({&g.ir()}, &g, {}, {}, live_weights(console.engine(), g.ir()));
}

}  // namespace

void command_dot(Console& console, std::string_view arguments) {
  // `net.dot` is a file name; `graph` and `blocks[0].graph` are not.
  const size_t space = arguments.rfind(' ');
  const std::string last(arguments.substr(space == arguments.npos ? 0 : space + 1));
  std::string format = std::filesystem::path(last).extension().string();
  const bool named = format == ".dot" || format == ".gv" || format == ".svg" || format == ".png" || format == ".pdf" ||
                     format == ".html";
  if (named) arguments = space == arguments.npos ? std::string_view() : arguments.substr(0, space);
  with_graph(console, arguments, "dot", [&](const Graph& g) {
    if (!named) return console.show_graph(g) ? void() : console.print(dot_text(g));
    write_file_atomically(last, format == ".html"                     ? page_of(console, g)
                                : format == ".dot" || format == ".gv" ? dot_text(g)
                                                                      : draw(dot_text(g), format.substr(1)));
    console.print("written to " + last);
  });
}

void command_tiles(Console& console, std::string_view arguments) {
  with_graph(console, arguments, "tiles", [&](const Graph& g) {
    tiles::require_one_ipu(g);
    const tiles::Schedule schedule = tiles::plan(g, tiles::EstimateOptions());
    console.print(tiles::summary_text(schedule.report) +
                  "  carried out once: " + tiles::text(tiles::count_moves(*schedule.program)));
  });
}

void command_memory(Console& console, std::string_view arguments) {
  auto line = [&](const std::string& name, const Session& s) {
    const Session::MemoryUse use = s.memory();
    console.print(fmt::format("{}: variables {} bytes, constants {}, arena {}, total {}", name, use.variables,
                              use.constants, use.arena, use.variables + use.constants + use.arena));
  };
  if (arguments.empty()) {
    bool any = false;
    for (const auto& [name, value] : console.engine().names())
      if (auto* s = value.as<SessionObject>()) {
        line(name, *s->session);
        any = true;
      }
    if (any) return;
    if (!console.engine().ir()) return console.print_error("there is no session and no graph");
    arguments = "Session(ir)";
  }
  console.report(console.engine().aside(arguments, [&](const Value& v) {
    auto* s = v.as<SessionObject>();
    if (!s)
      throw Error(":memory: expected a session, got " + with_article(v.type_name()),
                  {"`:memory Session(ir)` plans the top level"})
          .as(codes::type);
    line(std::string(arguments), *s->session);
  }));
}

void command_profile(Console& console, std::string_view arguments) {
  const auto sessions = [&] {
    std::vector<Session*> found;
    for (const auto& [name, value] : console.engine().names())
      if (auto* s = value.as<SessionObject>()) found.push_back(s->session.get());
    return found;
  };
  const auto print = [&](const Measurement& m) {
    if (m.runs > 0) console.print(table_text(m, console.columns()));
    return m.runs > 0;
  };
  bool any = false;
  if (arguments.empty()) {
    for (const Session* s : sessions()) any = print(s->measure()) || any;
    for (Session* s : sessions()) s->start_profiling();
    if (!any) console.print("no session has run since it is measured: sessions are measured from now on");
    return;
  }
  for (Session* s : sessions()) s->start_profiling();
  std::vector<Measurement> ended;  // sessions that the input makes and drops
  Session::collect(&ended);
  const Outcome o = console.engine().submit(arguments);
  Session::collect(nullptr);
  console.report(o);
  for (const Measurement& m : ended) any = print(m) || any;
  for (const Session* s : sessions()) any = print(s->measure()) || any;
  if (!any && o.ok()) console.print("no session ran");
  for (Session* s : sessions()) s->start_profiling();  // the next table covers the time from here on
}

}  // namespace pxl
