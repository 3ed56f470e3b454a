// Loads, evaluates and calls: the part of the library's interface that runs code of the language.
#include "interpreter/api/program.hpp"

#include <fmt/format.h>

#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/execute/engines/engine.hpp"

namespace pxl {
namespace {

constexpr const char* the_program = "the program";

void write_to_stderr(std::string_view text) { write_err_as_is(text); }
void write_to_stdout(std::string_view text) { write_out_as_is(text); }

void check_options(const ast::Tree& tree, const std::map<std::string, std::string>& given) {
  std::vector<std::string> names;
  const std::vector<OptionInfo> declared = scan_options(tree);
  for (const OptionInfo& o : declared) {
    names.push_back(o.name);
    if (o.required && !given.contains(o.name))
      throw Error(fmt::format("option `{}` ({}) is required", o.name, o.type), {}, Fault::usage).as(codes::option);
  }
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string hint = did_you_mean(name, names);
    throw Error(fmt::format("unknown option `{}`{}", name, hint.empty() ? "" : "; " + hint),
                {names.empty() ? std::string("the program declares no options")
                               : fmt::format("its options: {}", join_texts(names, ", "))},
                Fault::usage)
        .as(codes::option);
  }
}

void bind_names(Interpreter& in, std::span<const v1::Argument> names, api::Borrowed borrowed) {
  for (const v1::Argument& a : names) evaluator_of(in).file_scope()->bind(a.name, api::value_of(a.value, borrowed));
}

/// An interpreter for a text that may use the given names.
InterpreterPtr interpreter_for(const ast::TreePtr& tree, const std::string& title, const v1::LoadOptions& options) {
  check_options(*tree, options.options);
  InterpreterOptions host;
  host.out = options.out ? options.out : write_to_stdout;
  host.err = options.err ? options.err : write_to_stderr;
  host.options = options.options;
  host.program_name = title;
  InterpreterPtr in = make_interpreter(std::move(host));
  evaluator_of(*in).begin_file();
  bind_names(*in, options.names, api::Borrowed::copied);
  return in;
}

v1::Program run_source(const SourceFile& source, const v1::LoadOptions& options) {
  auto state = std::make_shared<v1::Program::State>();
  state->cancel = options.cancel;
  const api::Turn turn(state->turns, the_program);
  const ast::TreePtr tree = parse_or_throw(source);
  state->interpreter = interpreter_for(tree, source.name(), options);
  api::running_program(*state->interpreter, [&] { evaluator_of(*state->interpreter).run_more(tree); });
  return v1::Program(std::move(state));
}

}  // namespace

namespace api {

Interpreter& entered(v1::Program::State& program) {
  Interpreter& in = *program.interpreter;
  position_of(in) = {};
  evaluator_of(in).free_captured();
  return in;
}

Value evaluate_text(Interpreter& in, std::string_view title, std::string_view text) {
  // Most texts are a name, which needs no parser. This scope has only the names of the file.
  if (const Value* bound = evaluator_of(in).file_scope()->find_here(text)) return *bound;
  return evaluator_of(in).run_more(parse_or_throw(add_source(std::string(title), std::string(text))));
}

}  // namespace api

namespace v1 {

Program::Program(std::shared_ptr<State> state) : state_(std::move(state)) {}
// A program that was moved from keeps its state, so that no function needs a null check.
Program::Program(Program&& other) noexcept : state_(other.state_) {}
Program& Program::operator=(Program&& other) noexcept {
  state_ = other.state_;
  return *this;
}
Program::~Program() = default;

Result<Program> Program::load(const std::string& path, const LoadOptions& options) {
  return api::guarded(options.cancel, [&] {
    std::string why;
    std::optional<std::string> text = read_program(path, why);
    if (!text) throw pxl::Error(fmt::format("cannot read `{}`: {}", path, why), {}, Fault::unreadable).as(codes::file);
    return run_source(add_source(path, *std::move(text)), options);
  });
}

Result<Program> Program::from_text(std::string_view text, const LoadOptions& options, const std::string& title) {
  return api::guarded(options.cancel, [&] { return run_source(add_source(title, std::string(text)), options); });
}

Result<Session> Program::session(std::string_view program, const SessionOptions& options) {
  return api::make_session(state_, program, options);
}

Result<Value> Program::eval(std::string_view text, std::span<const Argument> names, const std::string& title) {
  return api::guarded(state_->cancel, [&] {
    const api::Turn turn(state_->turns, the_program);
    Interpreter& in = api::entered(*state_);
    bind_names(in, names, api::Borrowed::copied);
    return api::running_program(in, [&] { return api::public_value(in, api::evaluate_text(in, title, text)); });
  });
}

Result<Value> Program::call(std::string_view function, std::span<const Value> arguments,
                            std::span<const Argument> named) {
  return api::guarded(state_->cancel, [&] {
    const api::Turn turn(state_->turns, the_program);
    Interpreter& in = api::entered(*state_);
    const pxl::Value callee = api::evaluate_text(in, "<call>", function);
    Arguments args;
    for (const Value& v : arguments) args.positional.push_back(api::value_of(v, api::Borrowed::copied));
    for (const Argument& a : named) args.named.push_back({a.name, api::value_of(a.value, api::Borrowed::copied), {}});
    return api::running_program(in, [&] { return api::public_value(in, invoke(in, callee, std::move(args))); });
  });
}

Result<std::vector<std::string>> Program::names() const {
  return api::guarded(Cancel(), [&] {
    const api::Turn turn(state_->turns, the_program);
    return evaluator_of(*state_->interpreter).file_scope()->names();
  });
}

Result<std::vector<std::string>> Program::programs() const {
  return api::guarded(Cancel(), [&] {
    const api::Turn turn(state_->turns, the_program);
    std::vector<std::string> out;
    for (const auto& [name, value] : evaluator_of(*state_->interpreter).file_scope()->entries())
      if (value.as<ProgramObject>() || value.as<IrObject>()) out.push_back(name.text());
    return out;
  });
}

const Cancel& Program::cancellation() const noexcept { return state_->cancel; }

Result<Value> eval(std::string_view text, std::span<const Argument> names, const LoadOptions& options) {
  return api::guarded(options.cancel, [&] {
    const ast::TreePtr tree = parse_or_throw(add_source("<eval>", std::string(text)));
    const InterpreterPtr in = interpreter_for(tree, "<eval>", options);
    // `names` share the arrays until this function returns, so that code which changes an array gets a copy.
    bind_names(*in, names, api::Borrowed::shared);
    return api::running_program(*in, [&] { return api::public_value(*in, evaluator_of(*in).run_more(tree)); });
  });
}

std::span<const EngineInfo> engines() {
  static const auto& all = never_destroyed([] {
    std::vector<EngineInfo> rows;
    for (const EngineRow& row : engine_table()) rows.push_back({row.name, row.doc});
    return rows;
  }());
  return all;
}

std::string_view version() { return PXL_VERSION; }

}  // namespace v1
}  // namespace pxl
