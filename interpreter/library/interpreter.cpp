// Makes and destroys an interpreter.

#include <charconv>
#include <cstdlib>
#include <random>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/library/onnx.hpp"
#include "interpreter/library/run_watch.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl {
namespace {

/// PXL_SEED, or a random seed from the system.
uint64_t drawn_seed() {
  if (const auto seed = number_of(Setting::seed)) return *seed;
  return (static_cast<uint64_t>(std::random_device{}()) << 32) | std::random_device{}();
}

/// The seed for draws before the first `random_seed`. All processes of the job share it.
uint64_t initial_seed() {
  const uint64_t own = drawn_seed();
  if (!processes().several()) return own;
  return std::stoull(processes().from_first(std::to_string(own), "draw a seed"));
}

}  // namespace

Interpreter::Interpreter(InterpreterOptions options)
    : host_(std::move(options), Random(initial_seed())),
      evaluator_(std::make_unique<Evaluator>(*this)),
      graphs_(std::make_unique<GraphBuilder>(*this)) {
  Scope& prelude = *evaluator_->prelude();
  bind_core_builtins(*this, prelude);
  bind_op_builtins(*this, prelude);
  bind_data_builtins(*this, prelude);
  bind_graph_builtins(*this, prelude);
  add_onnx_importer(*evaluator_);
}

Interpreter::~Interpreter() {
  graphs_->clear_targets();
  evaluator_->release_scopes();
}

Host& host_of(Interpreter& in) { return in.host_; }
Evaluator& evaluator_of(Interpreter& in) { return *in.evaluator_; }
const Evaluator& evaluator_of(const Interpreter& in) { return *in.evaluator_; }
GraphBuilder& graphs_of(Interpreter& in) { return *in.graphs_; }
CheckState* check_in_progress(const Interpreter& in) { return in.checking; }
void end_check(Interpreter& in) { in.checking = nullptr; }
std::shared_ptr<RunWatch>& run_watch_of(Interpreter& in) { return in.run_watch; }

const Value& builtin_named(const Interpreter& in, std::string_view name) {
  const Value* v = evaluator_of(in).prelude()->find(name);
  if (!v) throw Error("there is no built-in " + std::string(name), {}, Fault::internal);
  return *v;
}

}  // namespace pxl
