// Sessions of the library's interface: runs, variables, files, reports.
#include "pxl/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "interpreter/api/access.hpp"
#include "interpreter/api/program.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/library/session_families.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/execute/streams.hpp"
#include "runtime/graph/linear_weights.hpp"
#include "runtime/io/suffix.hpp"

namespace pxl {
struct v1::Session::State {
  std::shared_ptr<Program::State> program;  ///< the interpreter outlives its sessions
  Ref<SessionObject> object;
  api::Turns turns;
  std::vector<StreamInfo> inputs, outputs;
  std::vector<VariableInfo> variables;
  std::unordered_map<std::string, const Tensor*> by_name;

  pxl::Session& session() const { return *object->session; }
};

namespace {

using State = v1::Session::State;

constexpr const char* the_session = "the session";

/// Marks an error of a call that takes data as a failure while running, wherever it was found.
template <class F>
auto running(F&& body) {
  try {
    return body();
  } catch (Error& e) {
    Diagnostic& d = e.first();
    if (d.fault == Fault::refused) d.fault = Fault::failed;
    throw;
  }
}

std::vector<v1::StreamInfo> stream_infos(const pxl::Session& session, const std::vector<const Stream*>& used,
                                         const Ir& ir) {
  std::vector<v1::StreamInfo> out;
  for (const auto& s : ir.streams())
    if (std::find(used.begin(), used.end(), s.get()) != used.end())
      out.push_back({s->name(), api::public_dtype(s->spec().dtype),
                     host_shape(*s, session.transfers(s.get()), session.replicas())});
  return out;
}

const Stream* output_stream(const State& s, const std::string& name) {
  const auto found = s.object->names->outputs.find(name);
  if (found != s.object->names->outputs.end() && found->second) return found->second;
  const std::vector<std::string> all = sorted_names(s.object->names->outputs);
  const std::string hint = did_you_mean(name, all);
  throw run_error(fmt::format("program {} has no output stream `{}`{}", s.object->ir->name(), name,
                              hint.empty() ? "" : "; " + hint),
                  {"its output streams: " + (all.empty() ? std::string("none") : join_texts(all, ", "))})
      .as(codes::stream);
}

StreamData stream_data(const State& s, std::span<const v1::Input> inputs) {
  StreamData data;
  for (const v1::Input& input : inputs) {
    const std::string name(input.name);
    const Stream* stream = input_stream(*s.object, name);
    if (!data.emplace(stream, api::array_of(input.array)).second)
      throw run_error(fmt::format("stream `{}` is given twice", stream->name())).as(codes::stream);
  }
  return data;
}

/// Also takes the program's turn if its top level may grow while the session runs, and if a run may build a program.
template <class F>
auto in_turn(const std::shared_ptr<State>& s, const v1::Cancel& cancel, F&& body) {
  return api::guarded(cancel, [&] {
    const api::Turn turn(s->turns, the_session);
    std::optional<api::Turn> of_program;
    if (s->object->ir->open_ended || s->object->family) of_program.emplace(s->program->turns, "the program");
    return running(body);
  });
}

/// A run of the session, or of the program for the sizes of the arrays.
StreamMap<pxl::Array> run_arrays(State& s, StreamData data, StreamData into, bool finite) {
  if (!s.object->family) return s.session().run(data, nullptr, std::move(into), finite);
  SessionObject& member = session_for(api::entered(*s.program), *s.object, data);
  const Ir &own = *s.object->ir, &other = *member.ir;
  const auto translated = [](auto&& arrays, const Ir& from, const Ir& to) {
    std::remove_cvref_t<decltype(arrays)> out;
    for (auto& [stream, array] : arrays) out.emplace(stream_like(from, to, stream), std::move(array));
    return out;
  };
  return translated(member.session->run(data, nullptr, translated(std::move(into), own, other), finite), other, own);
}

/// Binds `variables` in the file while a text is evaluated.
class VariablesName {
 public:
  VariablesName(Interpreter& in, const pxl::Value& session) : scope_(evaluator_of(in).file_scope()) {
    if (const pxl::Value* bound = scope_->find_here(name())) before_ = *bound;
    if (!session.is_none()) scope_->bind(name(), session);
    active_ = !session.is_none();
  }
  ~VariablesName() {
    if (!active_) return;
    if (before_)
      scope_->bind(name(), *before_);
    else
      scope_->erase(name());
  }
  VariablesName(const VariablesName&) = delete;
  VariablesName& operator=(const VariablesName&) = delete;

 private:
  static Name name() { return Name(std::string_view("variables")); }
  ScopePtr scope_;
  std::optional<pxl::Value> before_;
  bool active_ = false;
};

const Tensor* variable(const State& s, std::string_view given) {
  std::string name(given);
  if (const auto found = s.by_name.find(name); found != s.by_name.end()) return found->second;
  std::replace(name.begin(), name.end(), '.', '/');
  if (const auto found = s.by_name.find(name); found != s.by_name.end()) return found->second;
  std::vector<std::string> all;
  for (const v1::VariableInfo& v : s.variables) all.push_back(v.name);
  const std::string hint = did_you_mean(name, all);
  throw run_error(
      fmt::format("program {} has no variable `{}`{}", s.object->ir->name(), given, hint.empty() ? "" : "; " + hint),
      {"its variables: " + (all.empty() ? std::string("none") : join_texts(all, ", "))})
      .as(codes::key);
}

v1::LoadReport public_report(pxl::Session::LoadReport r) {
  return {std::move(r.loaded), std::move(r.missing), std::move(r.mismatched), std::move(r.unused)};
}

}  // namespace

namespace api {

v1::Result<v1::Session> make_session(const std::shared_ptr<v1::Program::State>& program, std::string_view text,
                                     const v1::SessionOptions& options) {
  return guarded(options.cancel, [&] {
    const Turn turn(program->turns, "the program");
    Interpreter& in = entered(*program);
    if (options.variables && options.variables->state()->program != program)
      throw Error("`variables` is a session of another loaded file", {"both programs are of one file"}, Fault::usage)
          .as(codes::arguments);
    const Value owner = options.variables ? Value(options.variables->state()->object) : Value();
    const VariablesName named(in, owner);
    Value built = evaluate_text(in, "<session>", text);
    if (built.as<ProgramObject>()) {
      Arguments args;
      for (const v1::Argument& a : options.arguments)
        args.named.push_back({a.name, value_of(a.value, Borrowed::copied), {}});
      built = invoke(in, built, std::move(args));
    } else if (!options.arguments.empty()) {
      throw Error(fmt::format("`{}` is {}, which takes no arguments", text, with_article(built.type_name())),
                  {"arguments are those of a program that is given by its name"}, Fault::usage)
          .as(codes::arguments);
    }
    Arguments args;
    args.positional.push_back(std::move(built));
    args.named.push_back({"device", options.device, {}});
    if (!options.engine.empty()) args.named.push_back({"engine", options.engine, {}});
    if (!owner.is_none()) args.named.push_back({"variables", owner, {}});
    const Value made = invoke(in, builtin_named(in, "Session"), std::move(args));
    auto state = std::make_shared<State>();
    state->program = program;
    state->object = made.ptr<SessionObject>();
    const pxl::Session& session = state->session();
    state->inputs = stream_infos(session, session.expected_inputs(), session.ir());
    state->outputs = stream_infos(session, session.outputs(), session.ir());
    for (const Tensor* v : session.variables()) {
      state->variables.push_back({v->name, public_dtype(v->spec.dtype), v->data.shape(), is_linear_weight(*v)});
      state->by_name.emplace(v->name, v);
    }
    return v1::Session(std::move(state), options.cancel);
  });
}

}  // namespace api

namespace v1 {

struct AttentionScope::State {
  std::function<bool()> answer;
  pxl::AttentionScope scope;
  State(std::atomic<bool>& asked, std::function<bool()> a) : answer(std::move(a)), scope(asked, answer) {}
};

AttentionScope::AttentionScope(std::atomic<bool>& asked, std::function<bool()> answer)
    : state_(std::make_unique<State>(asked, std::move(answer))) {}
AttentionScope::~AttentionScope() = default;

Session::Session(std::shared_ptr<State> state, Cancel cancel) : state_(std::move(state)), cancel_(std::move(cancel)) {}
// A session that was moved from keeps its state, so that no function needs a null check.
Session::Session(Session&& other) noexcept : state_(other.state_), cancel_(other.cancel_) {}
Session& Session::operator=(Session&& other) noexcept {
  state_ = other.state_;
  cancel_ = other.cancel_;
  return *this;
}
Session::~Session() = default;

Result<Outputs> Session::run(std::span<const Input> inputs, const RunOptions& options) {
  return in_turn(state_, cancel_, [&] {
    StreamMap<pxl::Array> arrays = run_arrays(*state_, stream_data(*state_, inputs), {}, options.finite);
    Outputs out;
    for (const auto& stream : state_->object->ir->streams())
      if (const auto found = arrays.find(stream.get()); found != arrays.end())
        out.arrays.emplace_back(stream->name(), api::public_array(std::move(found->second)));
    return out;
  });
}

Result<void> Session::run(std::span<const Input> inputs, std::span<const Output> outputs, const RunOptions& options) {
  return in_turn(state_, cancel_, [&] {
    StreamData into;
    for (const Output& output : outputs) {
      const Stream* stream = output_stream(*state_, std::string(output.name));
      // This pointer owns nothing. The array may be written to while it is the pointer's only user.
      std::shared_ptr<void> sole(output.array.data, [](void*) {});
      pxl::Array array = api::array_of(View(output.array.dtype, output.array.shape, output.array.data), std::move(sole),
                                       api::Contents::undefined);
      if (static_cast<const void*>(array.raw()) != output.array.data && array.size() > 0)
        throw run_error(fmt::format("stream `{}`: results cannot be written to {} that is not aligned for its type",
                                    stream->name(), name(output.array.dtype)))
            .as(codes::stream);
      if (!into.emplace(stream, std::move(array)).second)
        throw run_error(fmt::format("stream `{}` is given twice", stream->name())).as(codes::stream);
    }
    run_arrays(*state_, stream_data(*state_, inputs), std::move(into), options.finite);
  });
}

const std::vector<StreamInfo>& Session::inputs() const { return state_->inputs; }
const std::vector<StreamInfo>& Session::outputs() const { return state_->outputs; }
const std::vector<VariableInfo>& Session::variables() const { return state_->variables; }
const std::string& Session::engine() const { return state_->object->engine; }
const std::string& Session::device() const { return state_->object->device; }

Result<Array> Session::read(std::string_view name) {
  return in_turn(state_, cancel_,
                 [&] { return api::public_array(state_->session().get_tensor_data(variable(*state_, name))); });
}

Result<void> Session::write(std::string_view name, const View& value) {
  const Input one{name, value};
  return write(std::span(&one, 1));
}

Result<void> Session::write(std::span<const Input> given) {
  return in_turn(state_, cancel_, [&] {
    std::vector<pxl::Session::VariableValue> values;
    for (const Input& v : given) {
      const Tensor* tensor = variable(*state_, v.name);
      values.push_back(
          {tensor, convert_safely(api::array_of(v.array), tensor->spec.dtype, "the variable `" + tensor->name + "`")});
    }
    state_->session().write_variables_data(values);
  });
}

Result<Value> Session::call(std::string_view net, std::span<const Value> arrays, std::span<const Argument> named) {
  return api::guarded(cancel_, [&] {
    const api::Turn turn(state_->turns, the_session);
    const api::Turn of_program(state_->program->turns, "the program");
    return running([&] {
      Interpreter& in = api::entered(*state_->program);
      Arguments args;
      args.positional.emplace_back(std::string(net));
      for (const Value& v : arrays) args.positional.push_back(api::value_of(v, api::Borrowed::copied));
      for (const Argument& a : named) args.named.push_back({a.name, api::value_of(a.value, api::Borrowed::copied), {}});
      return api::public_value(in, state_->object->call_graph(in, args));
    });
  });
}

Result<void> Session::save(const std::string& path) {
  return in_turn(state_, cancel_, [&] {
    require_suffix("session.save", path, ".safetensors", "variables");
    state_->session().save(path);
  });
}

Result<LoadReport> Session::restore(const std::string& path, const RestoreOptions& options) {
  return in_turn(state_, cancel_, [&] {
    return public_report(state_->session().restore(
        path, {options.strict, options.variable_of, options.transpose_linear, options.states}));
  });
}

Result<LoadReport> Session::load_from(Session& other) {
  State *first = state_.get(), *second = other.state_.get();
  if (first == second) return api::usage_error("load_from: a session has its own variables already");
  if (std::less<>()(second, first)) std::swap(first, second);  // both threads lock in one order
  return api::guarded(cancel_, [&] {
    const api::Turn turn(first->turns, the_session), other_turn(second->turns, "the other session");
    return running([&] { return public_report(state_->session().load_from(other.state_->session())); });
  });
}

Result<std::string> Session::report() {
  return api::guarded(cancel_, [&] {
    const api::Turn turn(state_->turns, the_session);  // first, as in in_turn
    const api::Turn of_program(state_->program->turns, "the program");
    Interpreter& in = api::entered(*state_->program);
    const pxl::Value report = invoke(in, member_of(in, pxl::Value(state_->object), "report", {}));
    return *invoke(in, builtin_named(in, "to_json"), {report}).as_string();
  });
}

}  // namespace v1
}  // namespace pxl
