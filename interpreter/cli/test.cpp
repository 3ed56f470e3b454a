// `pxl test`: runs the `test` blocks of scripts.
#include <fmt/format.h>

#include <filesystem>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/json.hpp"
#include "interpreter/language/packages/packages.hpp"
#include "interpreter/language/tests.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "runtime/base/files/standard_streams.hpp"

namespace pxl::cli {

namespace {

/// Prints outcomes, and the output of tests line by line, with the file and the test.
class TestReport {
 public:
  explicit TestReport(bool json) : json_(json) {}

  void begin_file(const std::string& path) { file_ = path, title_.clear(), ran_ = 0; }
  void begin_test(const std::string& title) { title_ = title; }
  void end_test(const TestOutcome& t) {
    end_line();
    title_.clear();
    ++ran_;
    ++(t.passed ? passed_ : failed_);
    say(fmt::format("{} {}: {}\n", t.passed ? "ok    " : "FAILED", file_, t.title));
    if (!t.passed) cli::report(Error(t.failure));
    if (json_) emit({{"event", "test"}, {"file", file_}, {"title", t.title}, {"passed", t.passed}});
  }
  void end_file(bool complete) {
    end_line();
    if (!complete) {
      say(fmt::format("FAILED {}: ended early\n", file_));
      ++failed_;
    } else if (ran_ == 0) {
      say(fmt::format("       {}: no test blocks\n", file_));
    }
  }
  /// Prints the output of a test, or of the statements on which tests depend.
  void output(std::string_view text) {
    if (json_) return emit({{"event", "output"}, {"file", file_}, {"title", title_}, {"text", text}});
    while (!text.empty()) {
      const size_t end = text.find('\n');
      if (!in_line_) say(fmt::format("prints {}: {}", file_, title_.empty() ? "" : title_ + ": "));
      in_line_ = end == text.npos;
      const std::string_view line = text.substr(0, in_line_ ? end : end + 1);
      json_ ? write_err_as_is(line) : void(write_out_as_is(line));
      if (in_line_) return;
      text.remove_prefix(end + 1);
    }
  }
  int finish() {
    say(fmt::format("{} passed, {} failed\n", passed_, failed_));
    if (json_) emit({{"event", "summary"}, {"passed", passed_}, {"failed", failed_}});
    return failed_ == 0 ? exit_ok : exit_failed;
  }

 private:
  void say(const std::string& text) { json_ ? write_err(text) : void(write_out(text)); }
  void end_line() {
    if (in_line_) say("\n");
    in_line_ = false;
  }

  bool json_, in_line_ = false;
  std::string file_, title_;
  int ran_ = 0, passed_ = 0, failed_ = 0;
};

/// The root of the project around the working directory, as a relative path if it is this one.
std::string project_folder() {
  const std::optional<Project> project = project_around(".");
  if (!project)
    throw Error("test: a file or a folder is missing",
                {"in a project, a folder with a pxl.toml, `pxl test` runs all tests"}, Fault::usage);
  std::error_code failed;
  const std::filesystem::path shown = std::filesystem::relative(project->root, failed);
  return failed ? project->root.string() : shown.string();
}

int run_test_command(const CommonFlags& common, const std::vector<std::string>& arguments) {
  Invocation call = parse_flags(test_command, arguments);
  add_import_folders(call);
  if (call.operands.empty()) call.operands.push_back(project_folder());
  const std::vector<std::string> files = program_files(test_command, call.operands);
  TestReport report(use_json(common, call));
  for (const std::string& path : files) {
    report.begin_file(path);
    bool complete = false;
    const int status = guarded([&] {
      const ast::TreePtr tree = parse_or_throw(read_source(path));
      InterpreterOptions options = interpreter_options(common);
      options.out = [&](std::string_view text) { report.output(text); };
      options.program_name = path;
      const auto owned = make_interpreter(std::move(options));
      run_tests(
          *owned, tree, [&](const std::string& title) { report.begin_test(title); },
          [&](const TestOutcome& t) { report.end_test(t); });
      complete = true;
      return exit_ok;
    });
    if (status == exit_interrupted) return status;
    report.end_file(complete);
  }
  return report.finish();
}

constexpr Flag test_flags[] = {path_flag, json_flag};

}  // namespace

const Command test_command{
    "test",
    "test [FILE ...]",
    "run the `test` blocks of scripts",
    run_test_command,
    test_flags,
    "A folder means all .pxl files below it; without FILE, those of the project. Of a file's other statements only "
    "those run that a test depends on; tests "
    "of imported files do not run. Lines that a test prints begin with `prints`, the file and the test. "
    "Exits with 1 if a test failed."};

}  // namespace pxl::cli
