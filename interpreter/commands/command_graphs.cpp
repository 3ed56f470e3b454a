// Commands for graphs.
#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <sstream>

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
#include "runtime/execute/measurements/measurement.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/tiles/costs/move_counts.hpp"
#include "runtime/tiles/estimate.hpp"

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

/// What `:graph` is asked for.
struct Drawing {
  std::string graph, file, format;
  bool passes = false;
  std::string machine;
  int depth = -1;
};

/// Reads `[GRAPH] [FILE] [--passes] [--machine NAME] [--depth N]`.
Drawing drawing_of(std::string_view text) {
  Drawing d;
  const size_t options = text.starts_with("--") ? 0 : std::min(text.find(" --"), text.size());
  d.graph = trimmed(text.substr(0, options));
  // `net.dot` is a file name; `graph` and `blocks[0].graph` are not.
  const size_t space = d.graph.rfind(' ');
  const std::string last = d.graph.substr(space == d.graph.npos ? 0 : space + 1);
  const std::string ending = std::filesystem::path(last).extension().string();
  if (ending == ".dot" || ending == ".gv" || ending == ".svg" || ending == ".png" || ending == ".pdf" ||
      ending == ".html") {
    d.file = last;
    d.format = ending == ".gv" ? "dot" : ending.substr(1);
    d.graph.resize(space == d.graph.npos ? 0 : space);
  }
  std::istringstream words{std::string(text.substr(options))};
  for (std::string word; words >> word;) {
    const bool known = word == "--passes"
                           ? (d.passes = true)
                           : (word == "--machine" && words >> d.machine) || (word == "--depth" && words >> d.depth);
    if (!known)
      throw Error(fmt::format(":graph: `{}` is no option, or lacks its value", word),
                  {"options are --passes, --machine NAME and --depth N"}, Fault::usage);
  }
  const bool page = d.format == "html";
  if ((d.passes || !d.machine.empty()) && !page)
    throw Error(":graph: --passes and --machine are for a page: `:graph net.html --passes`", {}, Fault::usage);
  if (d.depth >= 0 && page) throw Error(":graph: --depth is for pictures; a page has all modules", {}, Fault::usage);
  return d;
}

/// The page of a graph, with the weights of the user's session.
std::string page_of(Console& console, const Graph& g, const Drawing& d) {
  std::vector<tiles::Report> reports;
  if (!d.machine.empty()) {
    tiles::EstimateOptions options;
    options.machine = tiles::parse_machine(d.machine);
    reports.push_back(tiles::estimate(g.ir().main(), options));
  }
  std::vector<std::vector<PassStage>> passes;
  if (d.passes) passes.push_back(pass_stages(g.ir().main()));
  return graph_page({&g.ir()}, &g, reports, passes, live_weights(console.engine(), g.ir()));
}

}  // namespace

void command_graph(Console& console, std::string_view arguments) {
  Drawing d;
  try {
    d = drawing_of(arguments);
  } catch (const Error& e) {
    return console.print_error(e.first().message);
  }
  with_graph(console, d.graph, "graph", [&](const Graph& g) {
    if (d.file.empty() && d.depth < 0 && console.show_graph(g)) return;
    const std::string text = d.format == "html" ? page_of(console, g, d) : dot_text(g, d.depth);
    if (d.file.empty()) return console.print(text);
    write_file_atomically(d.file, d.format == "html" || d.format == "dot" ? text : draw(text, d.format));
    console.print("written to " + d.file);
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
