// A session of a user (a script run, a REPL). It holds the parts that have headers of their own: the host (host.hpp),
// the position of the running code (call_chain.hpp), the evaluator (language/evaluator.hpp), which runs texts, and the
// graph builder (graphs/calls/graph_builder.hpp), which has the graph that ops are added to. Code that needs one part
// includes its header, and gets the part by a function that takes an Interpreter&; code that needs operations of values
// includes operations.hpp. This header is for code on the evaluator's hot paths and for what makes sessions.
#pragma once

#include <memory>

#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/host.hpp"

namespace pxl {

class Evaluator;
class GraphBuilder;
class RunWatch;     // library/run_watch.hpp
struct CheckState;  // a check of a file that does not run it; language/check.hpp

class Interpreter : public CodePosition {
 public:
  explicit Interpreter(InterpreterOptions options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  CheckState* checking = nullptr;       ///< set while a file is checked without being run
  std::shared_ptr<RunWatch> run_watch;  ///< observes the runs of sessions; may be null

 private:
  friend Host& host_of(Interpreter& in);
  friend Evaluator& evaluator_of(Interpreter& in);
  friend const Evaluator& evaluator_of(const Interpreter& in);
  friend GraphBuilder& graphs_of(Interpreter& in);

  Host host_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<GraphBuilder> graphs_;  ///< destroyed first: values of the evaluator's code point into graphs
};

}  // namespace pxl
