// `pxl graph`: draws a program's graphs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "interpreter/cli/json.hpp"
#include "interpreter/cli/program.hpp"
#include "interpreter/tools/graph_page.hpp"
#include "interpreter/tools/graph_view.hpp"
#include "interpreter/tools/module_view.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/execute/checkpoints/checkpoint.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl::cli {

namespace {

std::string_view kind_name(ViewNode::Kind kind) {
  static constexpr std::string_view names[] = {"op", "module", "call", "input", "output", "variable", "constant"};
  return names[kind];
}

Json json_of(const Ir& ir, const std::vector<DrawnGraph>& views) {
  Json graphs = Json::array();
  for (const DrawnGraph& view : views) {
    if (&view.graph->ir() != &ir) continue;
    Json nodes = Json::array(), edges = Json::array();
    for (const ViewNode& n : view.nodes) {
      Json node{{"id", n.id}, {"kind", kind_name(n.kind)}, {"label", n.labels}, {"scope", n.scope}, {"ops", n.names}};
      if (n.called) node["calls"] = n.called->id();
      nodes.push_back(std::move(node));
    }
    for (const ViewEdge& e : view.edges)
      edges.push_back({{"from", view.nodes[static_cast<size_t>(e.from)].id},
                       {"to", view.nodes[static_cast<size_t>(e.to)].id},
                       {"label", e.label},
                       {"tensors", e.tensors}});
    graphs.push_back({{"graph", view.graph->id()},
                      {"call_sites", view.graph->call_sites().size()},
                      {"nodes", std::move(nodes)},
                      {"edges", std::move(edges)}});
  }
  return {{"event", "picture"}, {"program", ir.name()}, {"graphs", std::move(graphs)}};
}

/// Draws the modules of a text that builds no program.
int draw_modules(const Script& script, const ast::Tree& tree, const std::string& format, const std::string& path) {
  const ModulePicture picture = modules_of(tree);
  const std::string title = std::filesystem::path(script.file).stem().string();
  std::string text;
  if (format == "html") {
    text = module_page({{title, picture}});
  } else if (format == "json") {
    Json modules = Json::array(), uses = Json::array();
    for (const ModuleBox& box : picture.boxes) {
      Json members = Json::object();
      for (const auto& [name, spec] : box.members) members[name] = spec;
      modules.push_back({{"title", box.title}, {"members", std::move(members)}});
    }
    for (const ModuleUse& use : picture.uses)
      uses.push_back({{"user", use.user}, {"used", use.used}, {"member", use.member}});
    text = Json{{"event", "modules"}, {"file", script.file}, {"modules", modules}, {"uses", uses}}.dump() + "\n";
  } else {
    const std::string dot = dot_text(title, {view_of(picture, title)});
    text = format == "dot" ? dot : draw(dot, format);
  }
  path == "-" ? void(write_data(text)) : write_file_atomically(path, text);
  return exit_ok;
}

/// The values that a checkpoint has for the programs' variables, by their names in checkpoints.
GivenWeights read_weights(const std::vector<const Ir*>& programs, const std::string& path) {
  CheckpointFile file(path);
  std::map<std::string, size_t> entries;
  for (size_t i = 0; i < file.entries().size(); ++i) entries.emplace(file.entries()[i].name, i);
  GivenWeights found;
  for (const Ir* ir : programs)
    for (const Tensor* v : ir->variables()) {
      auto entry = entries.find(v->path.known() ? v->path.text() : v->name);
      if (entry == entries.end()) entry = entries.find(v->name);
      if (entry != entries.end() && file.entries()[entry->second].spec.shape == v->spec.shape)
        found.emplace(v, file.read(entry->second));
    }
  if (found.empty())
    throw Error(fmt::format("graph: no variable of the programs is in {}", path),
                {"a checkpoint has the names that `session.save` gives: `net.fc.weight`"}, Fault::refused);
  return found;
}

int run_graph(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const ScriptWords words = script_words(graph_command, arguments);
  const Script& script = words.scripts.front();
  const Invocation call = parse_flags(graph_command, words.ours);
  const bool json = use_json(common, call);
  const std::string path = call.value("--output", "-");
  std::string format = std::filesystem::path(path).extension().string();
  format = json ? "json" : path == "-" ? "dot" : format.empty() ? "" : format.substr(1);
  if (format != "dot" && format != "svg" && format != "png" && format != "pdf" && format != "json" && format != "html")
    throw Error(fmt::format("graph: unsupported output format: `{}`", path),
                {"supported: .html, .dot, .svg, .png, .pdf and .json"}, Fault::usage);
  int depth = -1;
  if (call.has("--depth")) {
    const std::string given = call.value("--depth");
    if (given.empty() || given.size() > 4 || given.find_first_not_of("0123456789") != given.npos)
      throw Error(fmt::format("graph: --depth: expected a number of levels, got `{}`", given), {}, Fault::usage);
    depth = std::stoi(given);
  }
  const Programs programs = programs_of(common, script, call, true);
  if (programs.irs.empty()) return draw_modules(script, *programs.checked.tree, format, path);
  if (format == "html") {
    if (call.has("--graph") || call.has("--depth"))
      throw Error("graph: --graph and --depth are for pictures; a page has all graphs", {}, Fault::usage);
    std::vector<const Ir*> drawn;
    for (const auto& ir : programs.irs) drawn.push_back(ir.get());
    std::vector<tiles::Report> reports;
    if (call.has("--machine")) {
      tiles::EstimateOptions options;
      options.machine = tiles::parse_machine(call.value("--machine"));
      for (const Ir* ir : drawn) reports.push_back(tiles::estimate(ir->main(), options));
    }
    std::vector<std::vector<PassStage>> passes;
    if (call.has("--passes"))
      for (const Ir* ir : drawn) passes.push_back(pass_stages(ir->main()));
    const GivenWeights weights = call.has("--weights") ? read_weights(drawn, call.value("--weights")) : GivenWeights();
    write_file_atomically(path, graph_page(drawn, nullptr, reports, passes, weights));
    return exit_ok;
  }
  for (const char* flag : {"--machine", "--passes", "--weights"})
    if (call.has(flag)) throw Error(fmt::format("graph: {} is for pages: -o net.html", flag), {}, Fault::usage);
  std::vector<const Graph*> graphs;
  for (const auto& ir : programs.irs)
    for (const auto& graph : ir->graphs()) {
      const std::string shown = graph->is_main() ? "main" : graph->id();
      if (!call.has("--graph") || call.value("--graph") == shown) graphs.push_back(graph.get());
    }
  if (graphs.empty() && call.has("--graph"))
    throw Error(fmt::format("graph: unknown graph `{}`", call.value("--graph")),
                {"`pxl schedule FILE` shows the graphs"}, Fault::usage);
  if (graphs.empty()) return exit_ok;
  std::vector<DrawnGraph> views;
  if (format == "json") {  // for programs, the output is complete
    const Detail everything{std::numeric_limits<int>::max(), 1};
    for (const Graph* graph : graphs)
      views.push_back(view_of(*graph, depth < 0 ? everything : detail_for(graphs, depth)));
  } else {
    views = views_of(graphs, depth);
  }
  std::string text;
  if (format == "json") {
    for (const auto& ir : programs.irs) text += json_of(*ir, views).dump() + "\n";
  } else {
    text = dot_text(programs.irs.size() == 1 ? programs.irs.front()->name() : script.file, views);
    if (format != "dot") text = draw(text, format);
  }
  if (path == "-") {
    write_data(text);
  } else {
    write_file_atomically(path, text);
  }
  return exit_ok;
}

constexpr Flag graph_flags[] = {
    {"--output", "FILE", "write .html, .dot, .svg, .png, .pdf or .json; default: DOT to standard output", "-o"},
    program_flag,
    {"--graph", "NAME", "only this graph; the main graph is `main`", "-g"},
    {"--machine", "NAME,KEY=VALUE,...", "page: show each op's plan on this machine, as `pxl profile` models it", "",
     machine_words},
    {"--passes", "", "page: show what each pass of the planner makes of the program, beside what was before it"},
    {"--weights", "FILE", "page: show range and histogram of the variables as this checkpoint has them"},
    {"--depth", "N", "number of module levels drawn as frames; deeper modules are one box each", "-d"},
    evaluate_flag,
    json_flag,
};

}  // namespace

const Command graph_command{
    "graph",
    "graph [-o PICTURE] [--program CALL] [--depth N] FILE [--OPTION VALUE ...]",
    "draw the graphs of a file's programs",
    run_graph,
    graph_flags,
    "A page (.html) opens in any browser, without a network: modules and calls open at a click, equal ones are drawn "
    "once\n"
    "with a count, an op shows its tensors and its line of the program.\n"
    "A picture has a frame for each graph, with the number of its calls, and frames for its modules. Without --depth, "
    "modules\n"
    "become boxes from the first level at which a graph would have more than 120 boxes; if that is not enough,\n"
    "adjacent nodes share a box: modules of a list, consecutive ops, calls of one graph. JSON contains every op "
    "unless\n"
    "--depth is given. Pictures are drawn by Graphviz's dot."};

}  // namespace pxl::cli
