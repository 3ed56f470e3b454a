// The interactive engine: one session of a user, fed input by input. The REPL, a notebook kernel, an editor's server
// and the command line stand on it, so that each question has one answer everywhere: is this text whole, what did it
// do, what completes it, what is this name, which colours has it.
//
// Positions are byte offsets into the UTF-8 text that was passed. Nothing here throws for what a user may write.
// One engine at a time records changes; use it from one thread. Interrupts: request_interrupt() (runtime/base), also
// from a signal handler, ends the running submit within about 100 ms.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/language/undo.hpp"
#include "interpreter/syntax/classify.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/completion.hpp"
#include "interpreter/tools/inspection.hpp"
#include "interpreter/values/interpreter.hpp"

namespace pxl {

struct EngineOptions {
  std::function<void(std::string_view)> out;  ///< what the program prints
  std::function<void(std::string_view)> err;  ///< progress and notices
  bool quiet = false;                         ///< no notices
  bool terminal = false;                      ///< err is a terminal: progress bars may redraw
  std::function<void(const std::string& svg, const std::string& title)> picture{};  ///< as InterpreterOptions has it
};

/// What an input did.
struct Outcome {
  enum class Kind : uint8_t {
    done,
    failed,       ///< `diagnostics` say why; the session is as it was before
    interrupted,  ///< `kept` says whether what the input had computed so far is still there
    exited        ///< the program asked to end with `exit_status`
  } kind = Kind::done;
  Value value;                          ///< of a final expression; none where there is none
  std::string shown;                    ///< `value` as the prompt shows it; empty for none and after a trailing `;`
  std::vector<Diagnostic> diagnostics;  ///< render() (runtime/base/diagnostic.hpp) makes text of them
  bool kept = false;
  int exit_status = 0;
  int number = 0;      ///< of the input, from 1: diagnostics call it "[number]"
  double seconds = 0;  ///< wall time of running it
  bool ok() const { return kind == Kind::done; }
};

class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- inputs
  /// Parses and runs a text in the session. An input that fails leaves names, objects and graphs as they were; the
  /// variables of sessions keep what whole runs gave them. An interrupted one keeps names and objects if no graph was
  /// changed, and is taken back otherwise. A trailing `;` hides the value.
  Outcome submit(std::string_view text);
  /// The same for a file, as one input under its own name. Throws nothing; a file that can't be read is a failure.
  Outcome load(const std::string& path);
  /// Runs a text aside: what it does to names, objects and graphs is taken back, whatever happens. `use` gets the
  /// value while it still lives, in the record of the input.
  Outcome aside(std::string_view text, const std::function<void(const Value&)>& use);
  /// Takes back the last input that is still in effect (at most `undo_depth` of them); gives its text, or nothing.
  std::optional<std::string> undo();
  static constexpr size_t undo_depth = 8;
  /// Forgets everything: a new session. Numbers of inputs go on.
  void reset();
  /// Texts of the inputs that are in effect, in order (without hidden `;`): together they make the session again.
  const std::deque<std::string>& inputs() const { return inputs_; }

  // ---- questions about a text; none of them changes the session
  /// By the parser: whole, the beginning of something, or wrong at once. An empty line ends the wait after a
  /// trailing operator.
  static Completeness status(std::string_view text);
  /// What may stand at `cursor`: names, members, arguments, streams, modules.
  Completions complete(std::string_view text, size_t cursor);
  /// The name at or right before `cursor`, or the function around it: type, signature, documentation, value.
  std::optional<Inspection> inspect(std::string_view text, size_t cursor);
  /// Help on a name: of the session, an op (also by path), a builtin, a word of the language, a module of the
  /// library ("nn", "nn.Linear"). A name that is unknown gives an Inspection whose `found` is false and whose text
  /// says what is near.
  Inspection help(std::string_view name);
  /// The tokens of a text, classified.
  static std::vector<ClassifiedToken> highlight(std::string_view text);
  /// A value as the prompt shows it.
  std::string show(const Value& value);

  // ---- the state
  /// Names bound at the top level by the user, in order, with their values.
  std::vector<std::pair<std::string, Value>> names() const;
  /// The implicit program that top-level ops go to; null before the first.
  std::shared_ptr<Ir> ir() const { return in_->implicit_ir(); }
  /// The last value that was shown, also bound as `_`; none before the first.
  const Value& last() const { return last_; }
  int next_number() const { return number_ + 1; }
  Interpreter& interpreter() { return *in_; }

 private:
  struct Done {
    std::unique_ptr<InputRecord> record;
    Value last_before;
    bool counted = false;  ///< it has an entry in inputs_
  };
  Outcome run(const SourceFile& source, std::string_view kept_text, bool hidden);
  Outcome guarded(InputRecord& record, const std::function<void(Outcome&)>& body);
  void set_last(Value v);

  EngineOptions options_;
  std::unique_ptr<Interpreter> in_;
  Value last_;
  std::deque<std::string> inputs_;
  std::deque<Done> done_;
  int number_ = 0;
};

}  // namespace pxl
