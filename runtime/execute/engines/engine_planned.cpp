// The engine that plans.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/execute/engines/engines.hpp"
#include "runtime/execute/program.hpp"

namespace pxl {

namespace {

/// The state that the engines of all replicas share.
struct PlannedProgram {
  PlannedProgram(const EngineTask& task, const PlanOptions& options, int the_last_op)
      : planner(options),
        plan(task.result ? planner.plan_tensor(*task.result) : planner.plan(task.ir.main(), the_last_op)),
        last_op(the_last_op) {}

  /// Planned op by op: the same bits, much slower. Made at the first observed run.
  const std::shared_ptr<PlannedProgram>& op_by_op(const EngineTask& task) {
    if (!op_by_op_) op_by_op_ = std::make_shared<PlannedProgram>(task, PlanOptions::reference(), last_op);
    return op_by_op_;
  }

  Planner planner;
  const Plan& plan;
  int last_op;  ///< later ops are of an Ir that grew since
  std::shared_ptr<Profile> profile = std::make_shared<Profile>();

 private:
  std::shared_ptr<PlannedProgram> op_by_op_;
};

class PlannedEngine : public ExecutionEngine {
 public:
  PlannedEngine(const EngineTask& task, std::shared_ptr<PlannedProgram> planned)
      : task_(task),
        planned_(std::move(planned)),
        program_(planned_->plan, task_.variable, task.result ? std::vector{task.to} : std::vector<std::byte*>{},
                 {task.replica, task.ir.replication_factor}, planned_->profile, task_.remote, task_.changes) {}

  std::vector<StreamPort>& ports() override { return program_.ports(); }
  void begin(const std::function<bool()>& commit) override {
    commit_ = &commit;
    program_.begin();
  }
  std::span<const CollectiveStop> advance() override { return program_.advance(*commit_); }
  std::unique_ptr<ExecutionEngine> for_replica(const EngineTask& task) const override {
    return std::make_unique<PlannedEngine>(task, planned_);
  }
  const std::vector<const Tensor*>& changed_variables() const override { return program_.changed_variables(); }
  const std::vector<const Tensor*>& copied_variables() const override { return program_.copied_variables(); }
  void restore_parts() override { program_.restore_parts(); }
  bool fallible_after_commit() const override { return program_.fallible_after_commit(); }
  bool may_skip_stores() const override {
    for (const Plan* plan : planned_->planner.plans())
      for (const Instruction& instruction : plan->instructions)
        if (instruction.kind == Instruction::Kind::branch) return true;
    return false;
  }

  ExecutionEngine& observed(RunObserver* observer) override {
    if (!op_by_op_) op_by_op_ = std::make_unique<PlannedEngine>(task_, planned_->op_by_op(task_));
    op_by_op_->program_.observe(observer);
    return *op_by_op_;
  }

  void start_profiling() override { planned_->profile->start(program_.steps().size()); }
  Profile* times() override { return planned_->profile.get(); }
  Measurement measure() const override {
    const int replicas = task_.ir.replication_factor;
    return measured(replicas == 1 ? task_.ir.name() : fmt::format("{}, {} replicas", task_.ir.name(), replicas),
                    program_.steps(), *planned_->profile, planned_->plan);
  }
  int64_t constant_bytes() const override {
    int64_t bytes = 0;
    for (const Plan* plan : planned_->planner.plans()) bytes += plan->constant_bytes;
    return bytes;
  }
  int64_t arena_bytes() const override { return planned_->plan.arena_bytes; }

 private:
  EngineTask task_;
  std::shared_ptr<PlannedProgram> planned_;
  Program program_;
  std::unique_ptr<PlannedEngine> op_by_op_;
  const std::function<bool()>* commit_ = nullptr;
};

}  // namespace

// Plans, fuses, runs kernels (program.hpp).
std::unique_ptr<ExecutionEngine> make_planned_engine(const EngineTask& task) {
  int last_op = 0;
  for (const auto& op : task.ir.main().ops()) last_op = std::max(last_op, op->id);
  return std::make_unique<PlannedEngine>(
      task, std::make_shared<PlannedProgram>(task, PlanOptions::from_environment(), last_op));
}

}  // namespace pxl
