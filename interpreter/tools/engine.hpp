// The interactive engine: one session, which receives input by input. The REPL, the Jupyter kernel, the language server
// and the command line use it, so that they agree on completeness, results, completion, help and highlighting.
// Positions are byte offsets into the UTF-8 text that was passed. No function throws, whatever the user's input. Only
// one engine at a time may record changes. Use an engine from one thread. request_interrupt() (runtime/base) ends the
// running submit within about 100 ms; a signal handler may call it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/language/undo.hpp"
#include "interpreter/syntax/classify.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/completion.hpp"
#include "interpreter/tools/inspection.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

struct EngineOptions {
  std::function<void(std::string_view)> out;  ///< receives the program's output
  std::function<void(std::string_view)> err;  ///< receives progress and notices
  bool quiet = false;                         ///< no notices
  bool terminal = false;                      ///< err is a terminal: progress bars may be redrawn
  std::function<void(const std::string& svg, const std::string& title)> picture{};  ///< as in InterpreterOptions
  std::map<std::string, std::string> options{};                                     ///< values of a script's options
  std::string program_name = "session";
};

/// The result of an input.
struct Outcome {
  enum class Kind : uint8_t {
    done,
    failed,       ///< `diagnostics` give the reason; `left` says what the input changed
    interrupted,  ///< interrupted, without diagnostics
    exited        ///< the program called exit with `exit_status`
  } kind = Kind::done;
  Value value;                          ///< value of a final expression; otherwise none
  std::string shown;                    ///< `value` as displayed; empty for none and after a trailing `;`
  std::vector<Diagnostic> diagnostics;  ///< render() (runtime/base/diagnostics/diagnostic.hpp) converts them to text
  std::string left;                     ///< a sentence on what an input that did not end has changed; empty: nothing
  int exit_status = 0;
  int number = 0;      ///< number of the input, from 1: diagnostics call it "[number]"
  double seconds = 0;  ///< wall time of the run, in seconds
  bool ok() const { return kind == Kind::done; }
};

class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- inputs
  /// Parses and runs a text in the session. If an input fails or is interrupted, its additions to graphs are rolled
  /// back. Names, objects and the variables of sessions keep the state at which the input stopped. A trailing `;`
  /// suppresses the display of the value.
  Outcome submit(std::string_view text);
  /// Runs a file as one input under its own name. Does not throw; a file that cannot be read is a failure.
  Outcome load(const std::string& path);
  /// Runs a text in a temporary scope: its changes of names, objects and graphs are always rolled back. `use` receives
  /// the value while it is alive, before the rollback.
  Outcome aside(std::string_view text, const std::function<void(const Value&)>& use);
  /// Undoes the last input in effect, even if it failed. Undo is limited to `undo_depth` inputs. Returns the input's
  /// text, or nullopt.
  std::optional<std::string> undo();
  static constexpr size_t undo_depth = 8;
  /// Starts a new session. Input numbers continue.
  void reset();
  /// Runs a body that may throw outside inputs: a command. The outcome contains the error; nothing is rolled back.
  Outcome guard(const std::function<void()>& body);
  /// Sets the number of the next input.
  void number_next(int number) { number_ = number - 1; }
  /// Texts of the inputs in effect, in order, without a trailing `;`. Running them reproduces the session.
  const std::deque<std::string>& inputs() const { return inputs_; }

  // ---- requests about a text; none of them changes the session
  /// Whether the parser finds the text complete, incomplete or invalid. An empty line ends an input whose last token is
  /// an operator.
  static Completeness status(std::string_view text);
  /// The indentation of the line after an incomplete text: two spaces per open bracket, none in a string.
  static std::string indentation(std::string_view text);
  /// Completions at `cursor`: names, members, arguments, streams, modules.
  Completions complete(std::string_view text, size_t cursor);
  /// Describes the name at or directly before `cursor`, or the enclosing call's function: type, signature,
  /// documentation, value.
  std::optional<Inspection> inspect(std::string_view text, size_t cursor);
  /// Help on a name. It may belong to the session, an op (also by path), a built-in, a keyword, a library module or its
  /// declaration ("nn", "nn.Linear"). If the name is unknown, `found` is false and the text suggests similar names.
  Inspection help(std::string_view name);
  /// The classified tokens of a text.
  static std::vector<ClassifiedToken> highlight(std::string_view text);
  /// A value as displayed at the prompt.
  std::string show(const Value& value);

  // ---- the state
  /// Names that the user has bound at the top level, in order, with their values.
  std::vector<std::pair<std::string, Value>> names() const;
  /// The implicit program of top-level ops; null before the first op.
  std::shared_ptr<Ir> ir() const { return graphs_of(*in_).implicit_ir(); }
  /// The last displayed value, which `_` is bound to; none before the first.
  const Value& last() const { return last_; }
  int next_number() const { return number_ + 1; }
  Interpreter& interpreter() { return *in_; }

 private:
  struct Done {
    std::unique_ptr<UndoJournal> record;
    Value last_before;
    std::string text;
    bool counted = false;  ///< whether inputs_ has an entry for it
  };
  Outcome run(const SourceFile& source, std::string_view kept_text, bool hidden);
  Outcome guarded(const std::function<void(Outcome&)>& body);
  Outcome guarded_input(const SourceFile& source, ParseResult& parsed, const std::function<void(Outcome&)>& evaluate);
  void set_last(Value v);

  EngineOptions options_;
  InterpreterPtr in_;
  Value last_;
  std::deque<std::string> inputs_;
  std::deque<Done> done_;
  int number_ = 0;
};

}  // namespace pxl
