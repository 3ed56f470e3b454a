// States of builds: values that a call of a graph reads and replaces. The graph that is being built has a current value
// for each state. A call reads it, and the call's `next` becomes the current value (docs/language.md, State).
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "interpreter/graphs/graph_objects.hpp"
#include "runtime/graph/states.hpp"

namespace pxl {

/// A state in a graph that is being built. The state is bound to its holder: a variable, an input or a computed tensor.
struct StateValue {
  Tensor* holder = nullptr;
  std::vector<Tensor*> values;  ///< tensors of the graph: the value at its beginning, then each `next`
  Tensor* stored = nullptr;     ///< of a main graph: the value that ops write to the variable
};

/// The current value of a state in the graph that is being built. A function's graph captures the state. Null if the
/// holder is out of reach.
Tensor* state_now(Interpreter& in, Tensor* holder);
/// Makes a tensor the current value of a state whose value was read.
void set_state(Interpreter& in, Tensor* holder, Tensor* value);
/// Whether a tensor is a state of its graph.
bool is_state(Interpreter& in, const Tensor* t);
/// Declares the states of a finished build: its last outputs are their next values.
void finish_states(Interpreter& in, Graph& graph);
/// Adds the ops that write current values to the variables of a main graph.
void store_states(Interpreter& in, const std::shared_ptr<Ir>& ir);

/// The states of a call: outputs of its op, and the states whose next values they are.
using NextStates = std::vector<std::pair<size_t, Tensor*>>;
void set_states(Interpreter& in, const Op& call, const NextStates& next);
/// The operands of a call, and the states that it writes.
struct CallOperands {
  std::vector<Tensor*> tensors;  ///< by input
  NextStates next;
};
/// The operands for the call of a graph that is about to be made, from the call's arguments.
CallOperands operands_of(Interpreter& in, const Callable& callable, const Arguments& args);
/// Adds a call to the graph that is being built.
Op* add_call(Interpreter& in, Graph& graph, CallOperands operands);
/// The operands for a loop, whose first `carried` inputs are its states. `body` becomes a graph that also carries the
/// states that it writes: the first results of the loop are the next values of both.
CallOperands carried_operands(Interpreter& in, Callable& body, size_t carried, const Arguments& args);
/// `info.next`: the next values of a call, by name.
TreePtr next_tree(const std::shared_ptr<Ir>& ir, const Op& call);
/// The states of a graph, by name.
TreePtr states_tree(const std::shared_ptr<Ir>& ir, const Graph& graph);

/// A graph in the form that a loop needs: the states that it writes come after its first `carried` inputs and outputs.
struct CarriedBody {
  Callable body;                 ///< does not bind these states
  std::vector<Tensor*> holders;  ///< of these states
};
CarriedBody carry_states(Interpreter& in, const Callable& body, size_t carried);
/// The holder of the callable's state that an input represents; throws if the state is not bound.
Tensor* holder_of(Interpreter& in, const Callable& callable, const Tensor* input);
/// A graph that returns another graph's results in a new order.
Callable with_results(Interpreter& in, const Callable& body, const std::vector<size_t>& order);
/// Extends two branches so that they write the same states.
void join_states(Interpreter& in, Callable& yes, Callable& no);

/// A graph whose calls read states and write none.
Callable frozen_states(Interpreter& in, const Callable& body);

/// The states, at one moment, of the graph that is being built.
class StateMoment {
 public:
  explicit StateMoment(Interpreter& in);

 private:
  friend class AtMoment;
  const Graph* graph_;
  std::vector<std::pair<const Tensor*, size_t>> counts_;
};

/// During its lifetime, states have the values of a moment. Its end drops the values that calls wrote.
class AtMoment {
 public:
  AtMoment(Interpreter& in, const StateMoment& moment);
  ~AtMoment();
  AtMoment(const AtMoment&) = delete;
  AtMoment& operator=(const AtMoment&) = delete;

 private:
  std::vector<StateValue>* states() const;
  Interpreter& in_;
  const StateMoment& moment_;
  std::vector<StateValue> before_;
};

}  // namespace pxl
