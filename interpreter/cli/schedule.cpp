// `pxl schedule`: prints the schedules of a file's programs, or their plans.
#include "runtime/graph/schedule.hpp"
#include "runtime/base/text/join_texts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/cli/json.hpp"
#include "interpreter/cli/profiles/tile_schedule.hpp"
#include "interpreter/tools/pass_stages.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/plan/plan.hpp"

namespace pxl::cli {

namespace {

Json tensor_list(const std::vector<Tensor*>& list) {
  Json out = Json::array();
  for (const Tensor* t : list) {
    if (!t) continue;
    out.push_back({{"name", t->id}, {"dtype", name(t->spec.dtype)}, {"shape", t->spec.shape}});
  }
  return out;
}

void emit_schedule(const Ir& ir, const Graph& graph) {
  emit({{"event", "graph"},
        {"program", ir.name()},
        {"graph", graph.id()},
        {"inputs", tensor_list(graph.inputs())},
        {"outputs", tensor_list(graph.outputs())},
        {"call_sites", graph.call_sites().size()}});
  int position = 0;
  for (const Op* op : schedule_order(graph)) {
    Json called = Json::array();
    for (const Graph* g : op->called) called.push_back(g->id());
    emit({{"event", "op"},
          {"program", ir.name()},
          {"graph", graph.id()},
          {"position", position++},
          {"op", op->row->schedule},
          {"id", op->id},
          {"inputs", tensor_list(op->inputs)},
          {"outputs", tensor_list(op->outputs)},
          {"calls", called}});
  }
}

/// Prints a graph's nodes before the planner's passes, and after each pass that changes them.
void print_passes(const Ir& ir, const Graph& graph, bool json) {
  for (const auto& [pass, nodes] : pass_stages(graph))
    if (json)
      emit({{"event", "pass"}, {"program", ir.name()}, {"graph", graph.id()}, {"pass", pass}, {"nodes", nodes}});
    else
      print_out("{}\n{}", pass.empty() ? fmt::format("Graph : {}", graph.id()) : fmt::format("after {}:", pass), nodes);
}

void print_one(const Ir& ir, const Graph& graph, const Invocation& call, bool json, Planner& planner) {
  check_interrupt();
  if (call.has("--passes")) {
    print_passes(ir, graph, json);
  } else if (call.has("--plan")) {
    const std::string text = print_plan(planner.plan(graph));
    json ? emit({{"event", "plan"}, {"program", ir.name()}, {"graph", graph.id()}, {"text", text}})
         : void(write_out(text));
  } else if (json) {
    emit_schedule(ir, graph);
  } else {
    print_out("{}\n", print_schedule(graph));
  }
}

int run_schedule(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const ScriptWords words = script_words(schedule_command, arguments);
  const Invocation call = parse_flags(schedule_command, words.ours);
  const bool json = use_json(common, call);
  const Programs programs = programs_of(common, words.scripts.front(), call);
  if (is_on_tiles(call)) return run_on_tiles(common, words.scripts.front(), call, programs, json);
  std::vector<std::string> names;
  bool found = !call.has("--graph");
  for (size_t i = 0; i < programs.irs.size(); ++i) {
    const auto& ir = programs.irs[i];
    if (!json && programs.irs.size() > 1) print_out("Program : {}\n", programs.labels[i]);
    Planner planner;
    for (const auto& graph : ir->graphs()) {
      const std::string shown = graph->is_main() ? "main" : graph->id();
      names.push_back(shown);
      if (call.has("--graph") && call.value("--graph") != shown) continue;
      found = true;
      print_one(*ir, *graph, call, json, planner);
    }
  }
  if (found) return exit_ok;
  const std::string wanted = call.value("--graph"), hint = did_you_mean(wanted, names);
  throw Error(fmt::format("unknown graph `{}`{}", wanted, hint.empty() ? "" : "; " + hint),
              {fmt::format("the graphs are {}", join_texts(names, ", "))}, Fault::usage);
}

constexpr Flag schedule_flags[] = {
    program_flag,
    {"--graph", "NAME", "only this graph; the main graph is `main`", "-g"},
    {"--plan", "", "print the plan instead: order, memory and kernels after all passes"},
    {"--passes", "", "print instead what each pass of the planner makes of the graph"},
    machine_flag,
    proportion_flag,
    partials_flag,
    plans_flag,
    from_flag,
    start_flag,
    compare_flag,
    execute_flag,
    evaluate_flag,
    json_flag,
};

}  // namespace

const Command schedule_command{
    "schedule",
    "schedule [--program CALL] [--graph NAME] [--plan] [--machine NAME] FILE [--OPTION VALUE ...]",
    "print the graphs of a file's programs",
    run_schedule,
    schedule_flags,
    "Programs are built as `pxl check` builds them, and nothing runs. With --program only that program is shown.\n"
    "With --machine prints how ops are divided over the tiles of a machine: a text with a line for each op, which "
    "--from\n"
    "reads again after edits. --compare shows the plan beside the one that the search finds. --execute runs the "
    "script."};

}  // namespace pxl::cli
