// `pxl import` and `pxl onnx`: models of ONNX.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/json.hpp"
#include "interpreter/cli/onnx_cases.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/onnx/import.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/execute/checkpoints/checkpoint.hpp"

namespace pxl::cli {

namespace {

namespace fs = std::filesystem;

int run_import(const CommonFlags&, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(import_command, arguments, 1);
  if (call.operands.size() > 1)
    throw Error("import takes one model", {"usage: " + std::string(import_command.usage)}, Fault::usage);
  const std::string& path = call.operands.front();
  const std::string out = call.value("--output", fs::path(path).replace_extension(".pxl").string());
  const std::string weights = fs::path(out).replace_extension(".safetensors").string();
  if (fs::path(out).extension() != ".pxl")
    throw Error(fmt::format("import: a program's file ends in .pxl, not `{}`", out), {}, Fault::usage);
  if (!call.has("--output")) check_overwrite(import_command, call, out);
  const onnx::Model model = onnx::read_model(path);
  const onnx::Imported imported = onnx::import_model(
      model, {.title = fs::path(path).filename().string(), .weights_path = fs::path(weights).filename().string()});
  std::vector<NamedArray> arrays;
  for (const auto& [name, array] : imported.weights) arrays.push_back({name, array});
  if (!arrays.empty()) {
    check_overwrite(import_command, call, weights);
    write_checkpoint(weights, arrays);
  }
  write_file_atomically(out, imported.text.text());
  return exit_ok;
}

constexpr Flag import_flags[] = {{"--output", "FILE", "the program to write; its arrays go beside it", "-o"},
                                 force_flag};

int run_tests(const CommonFlags& common, const Invocation& call) {
  const bool json = use_json(common, call);
  std::map<std::string, std::array<int, 3>> groups;
  std::array<int, 3> total{};
  for (size_t i = 1; i < call.operands.size(); ++i) {
    const std::string& folder = call.operands[i];
    const std::vector<std::string> cases = onnx_cases(folder);
    if (cases.empty()) throw Error(fmt::format("onnx test: there is no model.onnx in {}", folder), {}, Fault::usage);
    for (const std::string& c : cases) {
      constexpr double rtol = 1e-3, atol = 1e-7;  // tolerances of the standard's runner
      const OnnxOutcome outcome = run_onnx_case(c, rtol, atol);
      const fs::path path(c);
      ++groups[path.parent_path().filename().string()][outcome.kind];
      ++total[outcome.kind];
      constexpr std::string_view words[] = {"passed", "failed", "skipped"};
      if (json)
        emit({{"event", "onnx_case"}, {"path", c}, {"outcome", words[outcome.kind]}, {"reason", outcome.reason}});
      else if (outcome.kind != OnnxOutcome::passed)
        print_out("{} {}: {}\n", words[outcome.kind], path.filename().string(), outcome.reason);
    }
  }
  if (!json) {
    for (const auto& [group, n] : groups) print_out("{}: {} passed, {} failed, {} skipped\n", group, n[0], n[1], n[2]);
    print_out("{} passed, {} failed, {} skipped\n", total[0], total[1], total[2]);
  }
  return total[OnnxOutcome::failed] ? exit_failed : exit_ok;
}

int run_onnx(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(onnx_command, arguments, 2);
  if (call.operands.front() != "test")
    throw Error(fmt::format("onnx: there is no `{}`", call.operands.front()),
                {"usage: " + std::string(onnx_command.usage)}, Fault::usage);
  return run_tests(common, call);
}

constexpr Flag onnx_flags[] = {json_flag};

/// The program that `--program` names or calls, in a file that has run; without the flag, the file's only program.
Value program_of_file(Interpreter& in, const std::string& path, const std::string& wanted) {
  std::string call = wanted;
  if (call.empty()) {
    std::vector<std::string> programs;
    for (const Scope::Entry& e : evaluator_of(in).file_scope()->entries())
      if (e.value.as<ProgramObject>()) programs.push_back(e.name.text());
    if (programs.size() != 1)
      throw Error(fmt::format("export: {} has {} programs", path, programs.size()), {"--program NAME selects one"},
                  Fault::usage);
    call = programs.front();
  }
  Value value = evaluator_of(in).run_more(parse_or_throw(add_source("<--program>", call)));
  if (value.as<ProgramObject>()) value = invoke(in, value);
  return value;
}

int run_export(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(export_command, arguments, 1);
  const std::string& path = call.operands.front();
  const std::string out = call.value("--output", fs::path(path).replace_extension(".onnx").string());
  if (!call.has("--output")) check_overwrite(export_command, call, out);
  const std::vector<std::string> rest(call.operands.begin() + 1, call.operands.end());
  const ast::TreePtr tree = parse_or_throw(read_source(path));
  InterpreterOptions options = interpreter_options(common);
  options.options = parse_options(path, scan_options(*tree), rest);
  options.program_name = path;
  const auto owned = make_interpreter(std::move(options));
  Interpreter& in = *owned;
  evaluator_of(in).run_file(tree);
  Arguments args;
  args.positional = {program_of_file(in, path, call.value("--program")), out};
  if (call.has("--weights"))
    args.named.push_back(
        {"weights",
         invoke(in, *evaluator_of(in).prelude()->find_here("load_arrays"), {Value(call.value("--weights"))}),
         {}});
  invoke(in, *evaluator_of(in).prelude()->find_here("export_onnx"), std::move(args));
  return exit_ok;
}

constexpr Flag export_flags[] = {
    {"--program", "CALL", "the program; with arguments to build it: \"infer(n = 80)\"", "-p"},
    {"--weights", "FILE", "a checkpoint with the values of its variables"},
    {"--output", "FILE", "the model to write", "-o"},
    force_flag,
};

}  // namespace

const Command import_command{
    "import",
    "import [--force] [-o FILE.pxl] MODEL.onnx",
    "write an ONNX model as a program",
    run_import,
    import_flags,
    "Writes a module `Model` whose build is the model's graph in order; its arrays go to a safetensors file of the "
    "same\n"
    "name. What cannot be imported is named with its node, all at once. docs/onnx.md lists the ops.",
    "*.onnx"};

const Command export_command{
    "export",
    "export [--program CALL] [--weights FILE.safetensors] [--force] [-o FILE.onnx] FILE",
    "write a program as an ONNX model",
    run_export,
    export_flags,
    "Runs the file, then writes one of its programs as a model of opset 17: streams in are its inputs, streams out "
    "its\n"
    "outputs. Variables have their initial values, or those of a checkpoint. docs/onnx.md lists the ops."};

const Command onnx_command{
    "onnx",
    "onnx test FOLDER ...",
    "run the ONNX standard's backend tests",
    run_onnx,
    onnx_flags,
    "Runs each folder with a model.onnx and test_data_set_N: prints what failed or was skipped with the reason, counts "
    "by\n"
    "group, and a last line \"N passed, N failed, N skipped\". Debian's package libonnx-testdata has the tests, in\n"
    "/usr/share/libonnx-testdata/data.",
    "test"};

}  // namespace pxl::cli
