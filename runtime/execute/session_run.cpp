// Runs of a session, with rollback.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/execute/replicas.hpp"
#include "runtime/execute/session_state.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double short_tail = 0.02;  // seconds: maximum delay of an interrupt after variables have been modified

}  // namespace

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
  if (!missing.empty()) message = fmt::format("missing input {}", join_texts(missing, ", "));
  if (!unexpected.empty())
    message += fmt::format("{}unexpected input {}", message.empty() ? "" : "; ", join_texts(unexpected, ", "));
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

/// The bytes of the arrays that receive outputs.
std::vector<std::pair<const std::byte*, const std::byte*>> ranges_of(const StreamData& into) {
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
  for (const auto& [stream, array] : into) ranges.emplace_back(array.raw(), array.raw() + array.bytes());
  return ranges;
}

}  // namespace

void Session::State::execute() {
  bool committed = false, can_undo = false;
  Clock::time_point start;
  try {
    const std::function<bool()> commit = [&] {
      committed = true;
      variables.note_changes(engine->changed_variables());
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

void Session::State::meet_to_run(const StreamData& inputs) {
  if (!elsewhere) return;
  Fingerprint state;
  for (const auto& stream : ir->streams()) {
    const auto given = inputs.find(stream.get());
    if (given != inputs.end()) state.add(stream->name()).add(text(given->second.spec()));
  }
  meet(fmt::format("start run {} of program {}", ++runs, ir->name()), state);
}

void Session::State::gather(StreamMap<Array>& results) const {
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

namespace {

/// The index of the first element that is not finite, or -1.
template <class T>
int64_t first_not_finite(const T* x, int64_t count) {
  constexpr int64_t block = 4096;
  for (int64_t from = 0; from < count; from += block) {
    const int64_t to = std::min(from + block, count);
    const auto is_finite = [&](int64_t i) {
      if constexpr (std::is_floating_point_v<T>)
        return std::isfinite(x[i]);
      else
        return std::isfinite(static_cast<float>(x[i]));
    };
    bool all = true;
    for (int64_t i = from; i < to; ++i) all &= is_finite(i);
    for (int64_t i = from; !all && i < to; ++i)
      if (!is_finite(i)) return i;
  }
  return -1;
}

std::vector<int64_t> place_in(int64_t index, const Shape& shape) {
  std::vector<int64_t> place(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; index /= shape[axis]) place[axis] = index % shape[axis];
  return place;
}

void check_finite(const std::string& what, DType dtype, const Shape& shape, const std::byte* elements) {
  if (row(dtype).kind != DTypeKind::floating) return;
  with_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> ? std::is_floating_point_v<T> : sizeof(T) == 2) {
      const auto* x = reinterpret_cast<const T*>(elements);
      const int64_t at = first_not_finite(x, element_count(shape));
      if (at < 0) return;
      throw run_error(fmt::format("{} is {}{}", what, number_text(x[at]),
                                  shape.empty() ? "" : " at " + bracket_text(place_in(at, shape))),
                      {"the run changed no variable; `nancheck()` finds the op"})
          .as(codes::not_finite);
    }
  });
}

}  // namespace

void Session::State::check_finite(const std::vector<ExecutionEngine*>& running) const {
  for (size_t i = 0; i < running.size(); ++i)
    for (const Tensor* v : running[i]->changed_variables())
      if (!v->remote)
        pxl::check_finite(fmt::format("variable `{}`", shown_name(*v)), v->spec.dtype, v->spec.shape,
                          variables.at(v, variables.range().first + static_cast<int>(i)));
}

void Session::State::check_finite(const StreamMap<Array>& results) const {
  for (const auto& stream : ir->streams())
    if (const auto found = results.find(stream.get()); found != results.end())
      pxl::check_finite(fmt::format("output `{}`", stream->name()), found->second.dtype(), found->second.shape(),
                        found->second.raw());
}

// A replica may fail after another has changed its variables, so that copies are kept until all have ended.
void Session::State::execute_undoable(const std::vector<ExecutionEngine*>& running, StreamMap<Array>& results,
                                      bool finite) {
  std::vector<VariableSnapshot> before;
  const int first = variables.range().first;
  const auto commit = [&](size_t i) {
    variables.note_changes(running[i]->changed_variables());
    before.emplace_back(variables, *running[i], first + static_cast<int>(i));
    before.back().take();
    return true;
  };
  // A process checks its own variables, and then all check the outputs of all.
  const auto end = [&] {
    if (finite) check_finite(running);
    if (elsewhere) gather(results);
    if (finite) check_finite(results);
  };
  try {
    run_in_turns({running, variables.range(), commit, elsewhere.get(), end, engine->times()});
  } catch (...) {
    for (VariableSnapshot& snapshot_of : before) snapshot_of.restore();
    throw;
  }
  if (!before.empty()) variables.note_run();
}

StreamMap<Array> Session::run(const StreamData& inputs, RunObserver* observer, StreamData into, bool finite) {
  State& s = *state_;
  const VariablesRun turn(s.variables);
  std::vector<ExecutionEngine*> running;
  for (const auto& engine : s.engines) running.push_back(observer ? &engine->observed(observer) : engine.get());
  const ReplicaRange& range = s.variables.range();
  const int64_t replicas = range.total;
  std::optional<Profile::Run> timed;
  if (Profile* times = s.engine->times()) timed.emplace(*times);
  s.check_names(inputs);
  // Outputs may be computed in their memory while inputs are read in theirs.
  const auto overwritten = ranges_of(into);
  const auto is_overwritten = [&](const Array& a) {
    return std::ranges::any_of(overwritten,
                               [&](const auto& to) { return a.raw() < to.second && to.first < a.raw() + a.bytes(); });
  };
  std::vector<Array> feeds;
  StreamMap<Array> results;
  for (size_t p = 0; p < running[0]->ports().size(); ++p) {
    const StreamPort& port = running[0]->ports()[p];
    if (port.per_run == 0) continue;
    std::byte* first = nullptr;
    if (port.stream->to_device) {
      const Array& given = inputs.at(port.stream);
      const bool fits = port.per_run == 1 && replicas == 1 && given.shape() == port.stream->spec().shape &&
                        given.dtype() == port.stream->spec().dtype;
      const bool in_place = fits && !is_overwritten(given);
      if (!in_place) feeds.push_back(fits ? given.clone() : prepare_input(*port.stream, port.per_run, replicas, given));
      first = const_cast<std::byte*>((in_place ? given : feeds.back()).raw());  // input ports are read only
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
    if (observer || replicas > 1 || finite)
      s.execute_undoable(running, results, finite);
    else
      s.execute();
  } catch (...) {
    s.remote.undo();
    throw;
  }
  return results;
}

}  // namespace pxl
