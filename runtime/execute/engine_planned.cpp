// The engine that plans.
#include <algorithm>

#include "runtime/execute/engines.hpp"
#include "runtime/execute/program.hpp"

namespace pxl {

namespace {

class PlannedEngine : public ExecutionEngine {
 public:
  PlannedEngine(const EngineTask& task, const PlanOptions& options, int last_op)
      : task_(task),
        planner_(options),
        plan_(task.result ? planner_.plan_tensor(*task.result) : planner_.plan(task.ir.main(), last_op)),
        last_op_(last_op),
        program_(plan_, task_.variable, task.result ? std::vector{task.to} : std::vector<std::byte*>{}) {}

  std::vector<StreamPort>& ports() override { return program_.ports(); }
  void run(const std::function<bool()>& commit) override { program_.run(commit); }
  const std::vector<const Tensor*>& changed_variables() const override { return program_.changed_variables(); }
  bool fallible_after_commit() const override { return program_.fallible_after_commit(); }
  bool may_skip_stores() const override {
    for (const Plan* plan : planner_.plans())
      for (const Instruction& instruction : plan->instructions)
        if (instruction.kind == Instruction::Kind::branch) return true;
    return false;
  }

  /// Planned op by op: the same bits, much slower. Made at the first observed run.
  ExecutionEngine& observed(RunObserver* observer) override {
    if (!op_by_op_) op_by_op_ = std::make_unique<PlannedEngine>(task_, PlanOptions::reference(), last_op_);
    op_by_op_->program_.observe(observer);
    return *op_by_op_;
  }

  void start_profiling() override { program_.profile().start(program_.steps().size()); }
  Profile* times() override { return &program_.profile(); }
  std::string profile() const override { return program_.profile().text(task_.ir.name(), program_.steps()); }
  std::string plans() const override {
    std::string text = print_plan(plan_);
    for (const Plan* plan : planner_.plans())
      if (plan != &plan_) text += print_plan(*plan);
    return text;
  }
  int64_t constant_bytes() const override {
    int64_t bytes = 0;
    for (const Plan* plan : planner_.plans()) bytes += plan->constant_bytes;
    return bytes;
  }
  int64_t arena_bytes() const override { return plan_.arena_bytes; }

 private:
  EngineTask task_;
  Planner planner_;
  const Plan& plan_;
  int last_op_;  ///< later ops are of an Ir that grew since
  Program program_;
  std::unique_ptr<PlannedEngine> op_by_op_;
};

}  // namespace

std::unique_ptr<ExecutionEngine> make_planned_engine(const EngineTask& task) {
  int last_op = 0;
  for (const auto& op : task.ir.main().ops()) last_op = std::max(last_op, op->id);
  return std::make_unique<PlannedEngine>(task, PlanOptions::from_environment(), last_op);
}

}  // namespace pxl
