// Sessions: construction and facts. Runs are in session_run.cpp, values of variables in session_variables.cpp.
#include "runtime/execute/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <unordered_set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/text/wrap.hpp"
#include "runtime/execute/replicas.hpp"
#include "runtime/execute/session_state.hpp"
#include "runtime/graph/agreement.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/graph/transaction.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/op/attr_text.hpp"

namespace pxl {

namespace {

const Ir& checked(const std::shared_ptr<Ir>& ir, const std::string& device) {
  static const auto& devices = never_destroyed(std::vector<std::string>{"cpu", "ipu_model"});
  if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
    std::vector<std::string> notes = {"devices are \"cpu\" and \"ipu_model\""};
    if (std::string hint = did_you_mean(device, devices); !hint.empty()) notes.insert(notes.begin(), hint);
    throw Error(fmt::format("unknown device \"{}\"", device), std::move(notes)).as(codes::session);
  }
  if (ir->main().ops().empty())
    throw Error("the main graph has no op, so there is nothing to run",
                {"use its variables, or store a tensor to a stream"})
        .as(codes::session);
  verify(*ir);
  check_inplace_order(*ir);
  check_collectives(*ir);
  return *ir;
}

void check_transfers(const Ir& ir, const ExecutionEngine& engine) {
  if (!ir.num_host_transfers) return;
  for (const StreamPort& port : engine.ports()) {
    if (port.per_run == *ir.num_host_transfers) continue;
    throw Error(fmt::format("the stream `{}` is {} {} in a run, but num_host_transfers is {}", port.stream->name(),
                            port.stream->to_device ? "loaded" : "stored",
                            port.per_run == 1 ? std::string("once") : fmt::format("{} times", port.per_run),
                            *ir.num_host_transfers),
                {"without num_host_transfers the number of loads and stores counts"})
        .as(codes::stream);
  }
}

bool& profiling_asked() {
  static bool asked = is_on(Setting::profile);
  return asked;
}

std::vector<Measurement>* collected = nullptr;  ///< gets the measurements of all sessions, if not null
thread_local int unprofiled = 0;

/// Whether new sessions are profiled, with a table or into `collected`.
bool profiles() { return unprofiled == 0 && (collected || profiling_asked()); }

int latest_id(const Graph& graph) {
  int latest = 0;
  for (const auto& op : graph.ops()) latest = std::max(latest, op->id);
  return latest;
}

}  // namespace

Session::State::State(std::shared_ptr<Ir> the_ir, std::string the_device, const std::string& engine_name,
                      const std::shared_ptr<const tiles::EstimateOptions>& machine,
                      const std::vector<const Variables*>& owners)
    : ir(std::move(the_ir)),
      device(std::move(the_device)),
      engine_row(find_engine(engine_name.empty() ? default_engine() : engine_name)),
      variables(checked(ir, device), processes(), owners),
      remote(*ir, variables.range(), [this](const Tensor* v, int replica) { return variables.memory(v, replica); }),
      engines(make_engines(engine_row, variables.range(),
                           [this, &machine](int replica) {
                             const auto memory = [this, replica](const Tensor* v) {
                               return variables.memory(v, replica);
                             };
                             const auto changes = [this](const Tensor* v) { return variables.changes(v); };
                             const auto buffer = [this, replica](int64_t b) { return remote.at(replica, b); };
                             return EngineTask{.ir = *ir,
                                               .variable = memory,
                                               .replica = replica,
                                               .machine = machine,
                                               .remote = buffer,
                                               .changes = changes};
                           })),
      engine(engines[0].get()),
      snapshot(variables, *engine, variables.range().first),
      clear_outputs(engine->may_skip_stores()),
      input_count(streams(true).size()),
      last_op(latest_id(ir->main())) {
  check_transfers(*ir, *engine);
  variables.check_changes(engine->changed_variables());
  if (!variables.range().all()) {
    elsewhere = std::make_unique<ProcessCollectives>(processes(), variables.range());
    meet_as_made();
  }
  GraphTransaction::changing(*ir);
  if (!ir->open_ended) ir->frozen = true;
}

void Session::State::meet_as_made() const {
  Fingerprint state;
  state.add(engine_row.name);
  for (const auto& graph : ir->graphs()) {
    state.add(print_schedule(*graph));
    for (const auto& op : graph->ops())
      for (const Attr& attr : op->attrs) state.add(attr_text(attr));
    for (const auto& t : graph->tensors())
      if (t->kind == TensorKind::constant)
        state.add({reinterpret_cast<const char*>(t->data.raw()), static_cast<size_t>(t->data.spec().bytes())});
  }
  for (const Tensor* v : variables.all())
    state.add({reinterpret_cast<const char*>(v->data.raw()), static_cast<size_t>(v->data.spec().bytes())});
  meet(fmt::format("make a session of program {}", ir->name()), state);
}

Session::Session(std::shared_ptr<Ir> ir, std::string device, const std::string& engine,
                 std::shared_ptr<const tiles::EstimateOptions> machine, const std::vector<const Session*>& variables) {
  using Clock = Profile::Clock;
  const bool profiled = profiles();
  const int64_t before = profiled ? Profile::resident_bytes() : 0;
  const Clock::time_point begin = Clock::now();
  std::vector<const Variables*> owners;
  std::vector<const Ir*> programs;
  for (const Session* s : variables) {
    owners.push_back(&s->state_->variables);
    programs.push_back(&s->ir());
  }
  check_shared(*ir, programs);
  state_ = std::make_unique<State>(std::move(ir), std::move(device), engine, machine, owners);
  if (!profiled) return;
  state_->resident_before = before;
  state_->making = std::chrono::duration<double>(Clock::now() - begin).count();
  state_->profiled = true;
  start_profiling();
}
Session::~Session() {
  if (!state_->profiled) return;
  const Profile* times = state_->engine->times();
  const bool any = (times && times->on()) || !counts().empty();
  if (collected && any) collected->push_back(measure());
  if (!collected && any && profiling_asked()) write_err(profile());
}

void Session::profile_all() { profiling_asked() = true; }
void Session::collect(std::vector<Measurement>* all) { collected = all; }
Session::Unprofiled::Unprofiled() { ++unprofiled; }
Session::Unprofiled::~Unprofiled() { --unprofiled; }
void Session::start_profiling() { state_->engine->start_profiling(); }
std::vector<std::pair<std::string_view, int64_t>> Session::counts() const { return state_->engine->counts(); }

Measurement Session::measure() const {
  Measurement m = state_->engine->measure();
  if (m.program.empty()) m.program = ir().name(), m.more = state_->engine->profile();
  const MemoryUse use = memory();
  m.variables = use.variables;
  m.constants = use.constants;
  m.arena = use.arena;
  m.making = state_->making;
  m.resident = std::max<int64_t>(m.resident - state_->resident_before, 0);
  return m;
}

std::string Session::profile() const {
  const Profile* times = state_->engine->times();
  return times && times->on() ? table_text(measure(), message_width()) : state_->engine->profile();
}

Ir& Session::ir() const { return *state_->ir; }
const std::string& Session::device() const { return state_->device; }
std::string_view Session::engine() const { return state_->engine_row.name; }
std::vector<const Stream*> Session::expected_inputs() const { return state_->streams(true); }
std::vector<const Stream*> Session::outputs() const { return state_->streams(false); }

int64_t Session::num_host_transfers() const {
  int64_t most = 1;
  for (const StreamPort& port : state_->engine->ports()) most = std::max(most, port.per_run);
  return most;
}

int64_t Session::transfers(const Stream* stream) const { return state_->transfers(stream); }

void Session::attach() { ++state_->attached; }
void Session::detach() {
  if (state_->attached == 0) throw Error("the session is not attached").as(codes::session);
  --state_->attached;
}
bool Session::is_attached() const { return state_->attached > 0; }

int Session::replicas() const { return state_->variables.range().total; }

const std::vector<Tensor*>& Session::variables() const { return state_->variables.all(); }

namespace {

bool has_effect(const Op& op, std::unordered_set<const Graph*>& seen) {
  if (op.row->side_effect || op.row->role == Role::host_load || op.row->role == Role::host_store) return true;
  for (size_t slot = 0; slot < op.inputs.size(); ++slot)
    if (op.inputs[slot] && op.modifies(slot)) return true;
  for (const Graph* callee : op.called)
    if (seen.insert(callee).second)
      for (const auto& inner : callee->ops())
        if (has_effect(*inner, seen)) return true;
  return false;
}

}  // namespace

std::vector<const Op*> Session::added_later() const {
  std::vector<const Op*> added;
  if (state_->ir->frozen) return added;
  for (const auto& op : state_->ir->main().ops()) {
    std::unordered_set<const Graph*> seen;
    if (op->id > state_->last_op && has_effect(*op, seen)) added.push_back(op.get());
  }
  return added;
}

Session::MemoryUse Session::memory() const {
  MemoryUse use;
  use.variables = state_->variables.bytes();
  use.arena = state_->engine->arena_bytes() * replicas();
  use.constants = state_->engine->constant_bytes();
  return use;
}

}  // namespace pxl
