// Files of the language: loaded, evaluated, and the sessions of their programs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pxl/session.hpp"
#include "pxl/value.hpp"

PXL_BEGIN_NAMESPACE

struct LoadOptions {
  std::map<std::string, std::string> options = {};  ///< values of the file's `option`s, as on the command line
  std::vector<Argument> names = {};                 ///< further names that the text sees
  /// Receive the program's output, and progress and notices, in the thread of the call. Empty: standard output and
  /// standard error. They must not throw, nor call this program. Ops `print_tensor` write to standard error.
  std::function<void(std::string_view)> out = {}, err = {};
  Cancel cancel = {};  ///< of loading, `eval` and `call`
};

struct SessionOptions {
  std::vector<Argument> arguments = {};  ///< of the program
  std::string engine = {};               ///< as `pxl --engine` takes it; empty: the default
  std::string device = "ipu_model";      ///< or "cpu": without cycles in the report
  /// The session that has the variables which the program shares with others; they are in its memory. The text of the
  /// program names this session: "evaluate(variables.ir.net)".
  const Session* variables = nullptr;
  Cancel cancel = {};  ///< of the session's runs
};

/// A file that has run, with the names that it bound. All functions are thread-safe: they take turns, and the runs of
/// sessions need no turn.
class PXL_API Program {
 public:
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  /// Runs the statements of a file, as an import does. A file that trains or prints at its top level does so.
  static Result<Program> load(const std::string& path, const LoadOptions& options = {});
  /// The same for a text; `title` is the name of the text in messages. Imports are relative to the current folder.
  static Result<Program> from_text(std::string_view text, const LoadOptions& options = {},
                                   const std::string& title = "<text>");

  /// Prepares a program to run: "train", an expression such as "infer(n = 8)", or "main", the ops of the top level.
  Result<Session> session(std::string_view program, const SessionOptions& options = {});

  /// The value of a text's final expression; the text sees the names of the file, and binds further ones. Tensors of
  /// the top level have the value that `eval` returns for them.
  /// `title` is the name of the text in messages.
  Result<Value> eval(std::string_view text, std::span<const Argument> names = {}, const std::string& title = "<eval>");
  /// Calls a function of the file.
  Result<Value> call(std::string_view function, std::span<const Value> arguments = {},
                     std::span<const Argument> named = {});

  /// The names that the file declares: its programs, and all names.
  Result<std::vector<std::string>> programs() const;
  Result<std::vector<std::string>> names() const;

  const Cancel& cancellation() const noexcept;

  struct State;
  explicit Program(std::shared_ptr<State> state);

 private:
  std::shared_ptr<State> state_;
};

/// The value of a text's final expression: `eval("x @ x.T", {{"x", array}})`.
PXL_API Result<Value> eval(std::string_view text, std::span<const Argument> names = {},
                           const LoadOptions& options = {});

/// An engine that runs sessions.
struct EngineInfo {
  std::string_view name, description;
};
/// All engines; the first is the default.
PXL_API std::span<const EngineInfo> engines();

/// "0.2.0".
PXL_API std::string_view version();

PXL_END_NAMESPACE
