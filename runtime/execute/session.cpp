// Sessions: variables, runs with rollback, loading and saving.
#include "runtime/execute/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/codes.hpp"
#include "runtime/base/standard_streams.hpp"
#include "runtime/base/suggest.hpp"
#include "runtime/execute/checkpoint.hpp"
#include "runtime/execute/checkpoint_parts.hpp"
#include "runtime/execute/engine.hpp"
#include "runtime/execute/remote.hpp"
#include "runtime/execute/replicas.hpp"
#include "runtime/execute/streams.hpp"
#include "runtime/execute/variables.hpp"
#include "runtime/graph/agreement.hpp"
#include "runtime/graph/linear_weights.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/op/attr_text.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/tensor/column_major.hpp"

namespace pxl {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double short_tail = 0.02;  // seconds: maximum delay of an interrupt after variables have been modified

const Ir& checked(const std::shared_ptr<Ir>& ir, const std::string& device) {
  static const std::vector<std::string> devices = {"cpu", "ipu_model"};
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

Error later_variable(const Tensor& variable) {
  return Error(fmt::format("the variable `{}` was added to the program after the session was made", variable.name),
               {"a session takes the program as it is: make a new one"})
      .as(codes::session);
}

bool& profiling_asked() {
  static bool asked = [] {
    const char* value = std::getenv("PXL_PROFILE");
    return value && std::string_view(value) == "on";
  }();
  return asked;
}

int latest_id(const Graph& graph) {
  int latest = 0;
  for (const auto& op : graph.ops()) latest = std::max(latest, op->id);
  return latest;
}

}  // namespace

struct Session::State {
  State(std::shared_ptr<Ir> the_ir, std::string the_device, const std::string& engine_name,
        const std::shared_ptr<const tiles::EstimateOptions>& machine)
      : ir(std::move(the_ir)),
        device(std::move(the_device)),
        engine_row(find_engine(engine_name.empty() ? default_engine() : engine_name)),
        variables(checked(ir, device), processes()),
        remote(*ir, variables.range(), [this](const Tensor* v, int replica) { return variables.at(v, replica); }),
        engines(
            make_engines(engine_row, variables.range(),
                         [this, &machine](int replica) {
                           const auto memory = [this, replica](const Tensor* v) { return variables.at(v, replica); };
                           const auto buffer = [this, replica](int64_t b) { return remote.at(replica, b); };
                           return EngineTask{
                               .ir = *ir, .variable = memory, .replica = replica, .machine = machine, .remote = buffer};
                         })),
        engine(engines[0].get()),
        snapshot(variables, *engine, variables.range().first),
        clear_outputs(engine->may_skip_stores()),
        input_count(streams(true).size()),
        last_op(latest_id(ir->main())) {
    check_transfers(*ir, *engine);
    if (!variables.range().all()) {
      elsewhere = std::make_unique<ProcessCollectives>(processes(), variables.range());
      meet_as_made();
    }
    if (!ir->open_ended) ir->frozen = true;
  }

  /// Points that the processes of one session pass together; nothing where all replicas are here.
  void meet(const std::string& what, const Fingerprint& state = {}) const {
    if (elsewhere) elsewhere->processes().meet(what, state, variables.range().total);
  }
  void meet_as_made() const;
  void meet_to_run(const StreamData& inputs);

  bool uses(const Stream* stream) const { return transfers(stream) > 0; }
  int64_t transfers(const Stream* stream) const {
    for (const StreamPort& port : engine->ports())
      if (port.stream == stream) return port.per_run;
    return 0;
  }
  std::vector<const Stream*> streams(bool to_device) const {
    std::vector<const Stream*> all;
    for (const auto& stream : ir->streams())
      if (stream->to_device == to_device && uses(stream.get())) all.push_back(stream.get());
    return all;
  }
  void check_names(const StreamData& inputs) const;
  void execute();
  /// With copies of all variables that change, so that any failure leaves them unmodified.
  void execute_undoable(const std::vector<ExecutionEngine*>& running, std::map<const Stream*, Array>& results);
  /// The samples of each process to all, where replicas are in several. Ends a run: none has failed.
  void gather(std::map<const Stream*, Array>& results) const;
  void check_equal(std::string_view what) const {
    for (const Tensor* v : variables.all()) variables.check_equal(v, what);
  }
  LoadReport compare(const std::vector<NamedSpec>& source) const;
  /// Throws unless the session has the variable and the value its shape and dtype.
  void check_value(const Tensor* tensor, const Array& value) const;
  std::unordered_map<std::string, const Tensor*> by_name() const;

  std::shared_ptr<Ir> ir;
  std::string device;
  const EngineRow& engine_row;
  Variables variables;
  RemoteStorage remote;
  std::vector<std::unique_ptr<ExecutionEngine>> engines;  ///< by replica of this process
  ExecutionEngine* engine;                                ///< of the first
  std::unique_ptr<ProcessCollectives> elsewhere;          ///< where other processes have replicas
  int64_t runs = 0;
  VariableSnapshot snapshot;
  bool clear_outputs;  ///< a store in an untaken branch leaves its sample unmodified
  size_t input_count;  ///< streams that a run loads
  int last_op;         ///< id of the session's last op in the main graph
  int attached = 0;
  double tail_seconds = -1.0;  ///< duration of the last run from the first update to the end; negative: no run yet
};

Session::Session(std::shared_ptr<Ir> ir, std::string device, const std::string& engine,
                 std::shared_ptr<const tiles::EstimateOptions> machine)
    : state_(std::make_unique<State>(std::move(ir), std::move(device), engine, machine)) {
  if (profiling_asked()) start_profiling();
}
Session::~Session() {
  const Profile* times = state_->engine->times();
  if (profiling_asked() && ((times && times->on()) || !counts().empty())) write_err(profile());
}

void Session::profile_all() { profiling_asked() = true; }
void Session::start_profiling() { state_->engine->start_profiling(); }
std::vector<std::pair<std::string_view, int64_t>> Session::counts() const { return state_->engine->counts(); }
std::string Session::profile() const { return state_->engine->profile(); }

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

void Session::State::check_names(const StreamData& inputs) const {
  const auto fits = [&](const StreamPort& port) { return !port.stream->to_device || inputs.count(port.stream) > 0; };
  if (inputs.size() == input_count && std::all_of(engine->ports().begin(), engine->ports().end(), fits)) return;
  std::vector<std::string> missing, unexpected, known, notes;
  for (const Stream* stream : streams(true)) {
    known.push_back(stream->name());
    if (!inputs.count(stream)) missing.push_back(fmt::format("`{}` {}", stream->name(), text(stream->spec())));
  }
  for (const auto& [stream, data] : inputs) {
    if (stream && stream->to_device && uses(stream)) continue;
    const std::string name = stream ? stream->name() : "none";
    unexpected.push_back(fmt::format("`{}`", name));
    if (stream && !stream->to_device)
      notes.push_back(fmt::format("`{}` is an output", name));
    else if (stream && std::find(known.begin(), known.end(), name) != known.end())
      notes.push_back(fmt::format("`{}` is a stream of another program", name));
    else if (std::string hint = did_you_mean(name, known); !hint.empty())
      notes.push_back(fmt::format("`{}`: {}", name, hint));
    else
      notes.push_back(fmt::format("`{}` is not loaded in a run", name));
  }
  if (missing.empty() && unexpected.empty()) return;
  std::sort(unexpected.begin(), unexpected.end());  // deterministic: not by address
  std::sort(notes.begin(), notes.end());
  std::string message;
  if (!missing.empty()) message = fmt::format("missing input {}", fmt::join(missing, ", "));
  if (!unexpected.empty())
    message += fmt::format("{}unexpected input {}", message.empty() ? "" : "; ", fmt::join(unexpected, ", "));
  throw Error(std::move(message), std::move(notes)).as(codes::stream);
}

namespace {

void check_output(const Stream& stream, const Shape& shape, const Array& given) {
  if (given.dtype() == stream.spec().dtype && given.shape() == shape) return;
  throw Error(fmt::format("stream `{}`: its results are {}{}, the memory given for them {}{}", stream.name(),
                          name(stream.spec().dtype), bracket_text(shape), name(given.dtype()),
                          bracket_text(given.shape())))
      .as(codes::stream);
}

}  // namespace

void Session::State::execute() {
  bool committed = false, can_undo = false;
  Clock::time_point start;
  try {
    const std::function<bool()> commit = [&] {
      committed = true;
      if (tail_seconds < 0 || tail_seconds > short_tail || engine->fallible_after_commit()) {
        snapshot.take();
        can_undo = true;
      }
      start = Clock::now();
      return can_undo;
    };
    engine->begin(commit);
    engine->advance();  // one replica: to the end
  } catch (...) {
    if (committed && can_undo)
      snapshot.restore();
    else if (committed)
      variables.note_run();
    throw;
  }
  if (committed) variables.note_run();
  if (committed) tail_seconds = std::chrono::duration<double>(Clock::now() - start).count();
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

void Session::State::meet_to_run(const StreamData& inputs) {
  if (!elsewhere) return;
  Fingerprint state;
  for (const auto& stream : ir->streams()) {
    const auto given = inputs.find(stream.get());
    if (given != inputs.end()) state.add(stream->name()).add(text(given->second.spec()));
  }
  meet(fmt::format("start run {} of program {}", ++runs, ir->name()), state);
}

void Session::State::gather(std::map<const Stream*, Array>& results) const {
  Processes& job = elsewhere->processes();
  const ReplicaRange& range = variables.range();
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  for (const auto& stream : ir->streams()) {
    const auto found = results.find(stream.get());
    if (found == results.end()) continue;
    std::byte* first = found->second.mutable_raw();
    const int64_t own = range.count * stream->spec().bytes(), all = range.total * stream->spec().bytes();
    for (int64_t t = 0; t < transfers(stream.get()); ++t)
      for (int p = 0; p < job.size(); ++p) {
        std::byte* rows = first + t * all;
        if (p == job.rank()) continue;
        sends.push_back({p, rows + job.rank() * own, own});
        receives.push_back({p, rows + p * own, own});
      }
  }
  job.end_run(std::move(sends), std::move(receives), range.total);
}

// A replica may fail after another has changed its variables, so that copies are kept until all have ended.
void Session::State::execute_undoable(const std::vector<ExecutionEngine*>& running,
                                      std::map<const Stream*, Array>& results) {
  std::vector<VariableSnapshot> before;
  const int first = variables.range().first;
  const auto commit = [&](size_t i) {
    before.emplace_back(variables, *running[i], first + static_cast<int>(i));
    before.back().take();
    return true;
  };
  try {
    run_in_turns({running, variables.range(), commit, elsewhere.get(), [&] { gather(results); }, engine->times()});
  } catch (...) {
    for (VariableSnapshot& snapshot_of : before) snapshot_of.restore();
    throw;
  }
  if (!before.empty()) variables.note_run();
}

std::map<const Stream*, Array> Session::run(const StreamData& inputs, RunObserver* observer, StreamData into) {
  State& s = *state_;
  std::vector<ExecutionEngine*> running;
  for (const auto& engine : s.engines) running.push_back(observer ? &engine->observed(observer) : engine.get());
  const ReplicaRange& range = s.variables.range();
  const int64_t replicas = range.total;
  std::optional<Profile::Run> timed;
  if (Profile* times = s.engine->times()) timed.emplace(*times);
  s.check_names(inputs);
  std::vector<Array> feeds;
  std::map<const Stream*, Array> results;
  for (size_t p = 0; p < running[0]->ports().size(); ++p) {
    const StreamPort& port = running[0]->ports()[p];
    if (port.per_run == 0) continue;
    std::byte* first = nullptr;
    if (port.stream->to_device) {
      const Array& given = inputs.at(port.stream);
      const bool fits = port.per_run == 1 && replicas == 1 && given.shape() == port.stream->spec().shape &&
                        given.dtype() == port.stream->spec().dtype;
      if (!fits) feeds.push_back(prepare_input(*port.stream, port.per_run, replicas, given));
      first = const_cast<std::byte*>((fits ? given : feeds.back()).raw());  // input ports are read only
    } else {
      Array& result = results[port.stream];
      if (const auto given = into.find(port.stream); given != into.end()) {
        check_output(*port.stream, host_shape(*port.stream, port.per_run, replicas), given->second);
        result = std::move(given->second);
        if (s.clear_outputs) std::fill_n(result.mutable_raw(), result.bytes(), std::byte{0});
      } else {
        const Shape shape = host_shape(*port.stream, port.per_run, replicas);
        result =
            s.clear_outputs ? Array::zeros(port.stream->spec().dtype, shape) : Array(port.stream->spec().dtype, shape);
      }
      first = result.mutable_raw();
    }
    // A transfer has the samples of all replicas.
    for (size_t i = 0; i < running.size(); ++i) {
      StreamPort& own = running[i]->ports()[p];
      own.next = first + (range.first + static_cast<int64_t>(i)) * own.sample_bytes;
      own.stride = replicas * own.sample_bytes;
    }
  }
  s.meet_to_run(inputs);
  s.remote.begin_run();
  try {
    if (observer || replicas > 1)
      s.execute_undoable(running, results);
    else
      s.execute();
  } catch (...) {
    s.remote.undo();
    throw;
  }
  return results;
}

void Session::attach() { ++state_->attached; }
void Session::detach() {
  if (state_->attached == 0) throw Error("the session is not attached").as(codes::session);
  --state_->attached;
}
bool Session::is_attached() const { return state_->attached > 0; }

void Session::check_replicas() const {
  state_->meet("compare the replicas");
  state_->check_equal("check_replicas");
}
int Session::replicas() const { return state_->variables.range().total; }

Array Session::get_tensor_data(const Tensor* tensor, Retrieval retrieval) const {
  if (!tensor || tensor->graph == nullptr || &tensor->graph->ir() != state_->ir.get())
    throw Error(fmt::format("`{}` does not belong to the session's program", tensor ? tensor->name : "none"))
        .as(codes::other_graph);
  if (state_->variables.has(tensor)) {
    state_->meet(fmt::format("read the variable `{}`", tensor->name));
    if (retrieval == Retrieval::all) return state_->variables.read_all(tensor);
    if (retrieval == Retrieval::one_per_group) state_->variables.check_equal(tensor, "get_tensor_data");
    return state_->variables.read(tensor);
  }
  if (tensor->kind == TensorKind::constant) return tensor->data.clone();
  if (tensor->kind == TensorKind::variable) throw later_variable(*tensor);
  throw Error(
      fmt::format("`{}` is neither a variable nor a constant, so a session does not keep its value", tensor->id),
      {"store it to a stream, or copy it to a variable"})
      .as(codes::session);
}

void Session::write_variable_data(const Tensor* tensor, const Array& value) { write_variables_data({{tensor, value}}); }

void Session::write_variables_data(const std::vector<VariableValue>& values) {
  for (const auto& [tensor, value] : values) state_->check_value(tensor, value);
  for (const auto& [tensor, value] : values) state_->variables.write(tensor, value);
}

void Session::write_replicas(const Tensor* tensor, const Array& values) { state_->variables.write_all(tensor, values); }

void Session::State::check_value(const Tensor* tensor, const Array& value) const {
  if (tensor && tensor->kind == TensorKind::variable && tensor->graph && &tensor->graph->ir() == ir.get() &&
      !variables.has(tensor))
    throw later_variable(*tensor);
  if (!tensor || !variables.has(tensor))
    throw Error(fmt::format("`{}` is not a variable of the session's program", tensor ? tensor->name : "none"))
        .as(codes::session);
  if (value.shape() == tensor->data.shape() && value.dtype() == tensor->spec.dtype) return;
  std::vector<std::string> notes;
  if (!tensor->groups.empty())
    notes.push_back(
        fmt::format("a value for each of its {} groups is {}", group_count(tensor->groups), text(tensor->data.spec())));
  throw Error(
      fmt::format("the variable `{}` is {}, the value {}", tensor->name, text(tensor->spec), text(value.spec())),
      std::move(notes))
      .as(codes::session);
}

Session::LoadReport Session::State::compare(const std::vector<NamedSpec>& source) const {
  LoadReport report;
  const std::unordered_map<std::string, const Tensor*> here = by_name();
  std::unordered_set<std::string> there;
  for (const NamedSpec& from : source) {
    there.insert(from.name);
    const auto found = here.find(from.name);
    if (found == here.end()) {
      report.unused.push_back(from.name);
      continue;
    }
    const TensorSpec spec = found->second->data.spec();
    if (spec.shape != from.spec.shape || spec.dtype != from.spec.dtype)
      report.mismatched.push_back(fmt::format("{}: {} here, {} there", from.name, text(spec), text(from.spec)));
    else
      report.loaded.push_back(from.name);
  }
  for (const Tensor* v : variables.all())
    if (!there.count(v->name)) report.missing.push_back(v->name);
  return report;
}

std::unordered_map<std::string, const Tensor*> Session::State::by_name() const {
  std::unordered_map<std::string, const Tensor*> named;
  for (const Tensor* v : variables.all()) named.emplace(v->name, v);
  return named;
}

Session::LoadReport Session::load_from(const Session& other) {
  other.state_->meet("copy the variables of a session");
  other.state_->check_equal("load_from_session");
  std::vector<NamedSpec> source;
  for (const Tensor* v : other.state_->variables.all()) source.push_back({v->name, v->data.spec()});
  LoadReport report = state_->compare(source);
  if (!report.mismatched.empty())
    throw run_error("load_from_session: variables differ in shape or dtype", report.mismatched).as(codes::session);
  if (report.loaded.empty())
    throw run_error(
        "load_from_session: the sessions have no variable in common",
        {fmt::format("here: {}", report.missing.empty() ? "none" : fmt::format("{}", fmt::join(report.missing, ", "))),
         fmt::format("there: {}", report.unused.empty() ? "none" : fmt::format("{}", fmt::join(report.unused, ", "))),
         "variables are found by name: `facts.init(\"prefix\")` and name_scope name them"})
        .as(codes::session);
  const auto here = state_->by_name(), there = other.state_->by_name();
  for (const std::string& name : report.loaded)
    state_->variables.write(here.at(name), other.state_->variables.read(there.at(name)));
  return report;
}

void Session::save(const std::string& path) const {
  state_->meet("save the variables");
  state_->check_equal("save");
  const Variables& variables = state_->variables;
  std::vector<NamedSpec> entries;
  for (const Tensor* v : variables.all()) entries.push_back({v->name, v->data.spec()});
  write_checkpoint(path, entries, [&](size_t i) {
    state_->meet(fmt::format("save the variable `{}`", entries[i].name));
    return variables.read(variables.all()[i]);
  });
}

void Session::save_parts(const std::string& folder) const {
  state_->meet("save the variables in parts");
  state_->check_equal("save");
  pxl::save_parts(state_->variables, folder, [&](const std::string& what) { state_->meet(what); });
}

Session::LoadReport Session::restore(const std::string& path, const RestoreOptions& options) {
  CheckpointFile file(path);
  const auto here = state_->by_name();
  // The entries as the session's variables have them; empty names: ignored.
  std::vector<NamedSpec> entries = file.entries(), taken;
  std::vector<bool> transposed(entries.size());
  std::unordered_map<std::string, std::string> origin;
  for (size_t i = 0; i < entries.size(); ++i) {
    NamedSpec& e = entries[i];
    if (options.variable_of) e.name = options.variable_of(e.name).value_or("");
    if (e.name.empty()) continue;
    if (const auto [first, added] = origin.emplace(e.name, file.entries()[i].name); !added)
      throw run_error(fmt::format("restore: `{}` and `{}` of {} are both for the variable `{}`", first->second,
                                  file.entries()[i].name, path, e.name))
          .as(codes::session);
    const auto variable = here.find(e.name);
    transposed[i] = options.transpose_linear && variable != here.end() && e.spec.shape.size() == 2 &&
                    is_linear_weight(*variable->second);
    if (transposed[i]) std::swap(e.spec.shape[0], e.spec.shape[1]);
    taken.push_back(e);
  }
  LoadReport report = state_->compare(taken);
  if (options.strict && !(report.missing.empty() && report.mismatched.empty())) {
    std::vector<std::string> notes;
    if (!report.missing.empty())
      notes.push_back(fmt::format("missing in the file: {}", fmt::join(report.missing, ", ")));
    for (const std::string& m : report.mismatched) notes.push_back("another shape or dtype: " + m);
    if (!report.unused.empty()) notes.push_back(fmt::format("unused in the file: {}", fmt::join(report.unused, ", ")));
    notes.push_back("`restore(path, strict = false)` restores what fits, and returns what does not");
    const size_t all = report.missing.size() + report.mismatched.size();
    throw run_error(fmt::format("restore: {} does not have {} of the {} variables of program {}", path, all,
                                state_->variables.all().size(), state_->ir->name()),
                    std::move(notes))
        .as(codes::session);
  }
  const std::unordered_set<std::string> found(report.loaded.begin(), report.loaded.end());
  file.read_all_or_none([&](size_t i) { return found.count(entries[i].name) > 0; },
                        [&](size_t i, Array value) {
                          state_->variables.write(
                              here.at(entries[i].name),
                              transposed[i] ? from_column_major(value, entries[i].spec.shape) : value);
                        });
  return report;
}

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
  const auto& ops = state_->ir->main().ops();
  for (size_t k = ops.size(); k > 0 && ops[k - 1]->id > state_->last_op; --k) {
    std::unordered_set<const Graph*> seen;
    if (has_effect(*ops[k - 1], seen)) added.push_back(ops[k - 1].get());
  }
  std::reverse(added.begin(), added.end());
  return added;
}

Session::MemoryUse Session::memory() const {
  MemoryUse use;
  use.variables = state_->variables.bytes();
  use.arena = state_->engine->arena_bytes() * replicas();
  use.constants = state_->engine->constant_bytes();
  return use;
}

std::string Session::print_plans() const { return state_->engine->plans(); }

}  // namespace pxl
