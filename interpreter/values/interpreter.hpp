// A session of a user (a script run, a REPL) as every value sees it: its output, random numbers, the chain of running
// calls, and the operations that every kind of value answers. Its two parts have headers of their own: the evaluator
// (language/evaluator.hpp) runs texts, the graph builder (graphs/graph_builder.hpp) has the graph that ops are added
// to.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/tensor/random.hpp"

namespace pxl {

class Evaluator;
class GraphBuilder;
class RunWatch;   // library/run_watch.hpp
struct Checking;  // a check of a file that does not run it; language/check.hpp

struct InterpreterOptions {
  std::function<void(std::string_view)> out;  ///< what `print` writes
  std::function<void(std::string_view)> err;  ///< progress and notices
  /// Receives an SVG that `plot` drew, with its title. If empty, charts are written as text.
  std::function<void(const std::string& svg, const std::string& title)> picture;
  bool quiet = false;
  bool terminal = false;                       ///< err is a terminal: progress bars may redraw
  bool run_tests = false;                      ///< `test` blocks run
  std::map<std::string, std::string> options;  ///< values of the script's `option`s, from the command line
  std::string program_name;                    ///< for messages on options
};

class Interpreter {
 public:
  explicit Interpreter(InterpreterOptions options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  Evaluator& evaluator() { return *evaluator_; }
  const Evaluator& evaluator() const { return *evaluator_; }
  GraphBuilder& graphs() { return *graphs_; }
  const GraphBuilder& graphs() const { return *graphs_; }

  // ---- the host
  const InterpreterOptions& options() const { return options_; }
  void write(std::string_view text) { options_.out(text); }
  void notice(std::string_view text) {
    if (!options_.quiet) options_.err(text);
  }
  Random& random() { return random_; }

  /// A built-in function by its name in the prelude; throws if there is none.
  const Value& builtin(std::string_view name) const;

  // ---- operations on any value (questions.cpp, format.cpp, call_chain.cpp)
  std::string str(const Value& v);
  std::string repr(const Value& v);
  bool truth(const Value& v);
  bool equal(const Value& a, const Value& b);
  bool identical(const Value& a, const Value& b);
  Iterator iterate(const Value& v);
  std::vector<Value> to_vector(const Value& v);
  int64_t length(const Value& v);
  /// A member, or an Error with the nearest name.
  Value member(const Value& v, const std::string& name, const Span& at);
  std::string format(const Value& v, std::string_view spec);  ///< Python's format mini-language
  /// Calls anything callable. Errors that leave it get `args.span` if they have no location yet.
  Value call(const Value& callee, Arguments args);
  Value call(const Value& callee, std::vector<Value> positional);

  // ---- the state of the running code
  Checking* checking = nullptr;         ///< set while a file is checked without being run
  std::shared_ptr<RunWatch> run_watch;  ///< observes the runs of sessions; may be null
  CallChain frames;                     ///< the chain of running calls
  Span here;                            ///< the expression that is being evaluated: the location of new ops

 private:
  friend struct DepthGuard;
  InterpreterOptions options_;
  Random random_;
  int depth_ = 0;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<GraphBuilder> graphs_;  ///< destroyed first: values of the evaluator's code point into graphs
};

}  // namespace pxl
