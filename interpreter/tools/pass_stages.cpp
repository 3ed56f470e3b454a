#include "interpreter/tools/pass_stages.hpp"

#include "runtime/plan/plan.hpp"

namespace pxl {

std::vector<PassStage> pass_stages(const Graph& graph) {
  std::vector<PassStage> stages;
  PlanOptions options = PlanOptions::from_environment();
  options.watched = &graph;  // called graphs are watched separately
  options.watch = [&](std::string_view pass, const std::string& nodes) {
    if (pass.empty() || nodes != stages.back().nodes) stages.push_back({std::string(pass), nodes});
  };
  Planner(std::move(options)).plan(graph);
  return stages;
}

}  // namespace pxl
