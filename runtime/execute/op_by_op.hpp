// Engines that run op by op: the walk through the graphs, with calls, loops, branches and streams. The store defines
// the representation of a tensor and the execution of an op.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/threads/subnormals.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/execute/graph_facts.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/remote.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/op/reads_in_place.hpp"

namespace pxl {

/// Who looks at the ops of a run.
struct Watch {
  RunObserver* observer = nullptr;  ///< null: none
  ReplicaNumber replica = {};
  const GraphFacts::Known* graph = nullptr;  ///< of the op
};

/// A Store has a type Value, a tensor's elements that share memory with those of other tensors or not, and
///   explicit Store(const EngineTask&), Store(const Store& of_first_replica, const EngineTask&)
///   void begin()                                        before a run
///   Value source(const Tensor&, bool may_change)        a variable or constant, as a graph begins
///   Value made(const Tensor&, const std::byte*)         new memory for a tensor with this value
///   Value copied(const Value&, const Tensor& as)        new memory for `as` with the value
///   void read(const Value&, std::byte*)                 dense
///   void write(const Value&, const std::byte*)
///   bool of_variable(const Value&)                      whether it shares memory with a variable
///   bool share_memory(const Value&, const Value&)       whether they may have elements in common
///   bool same_elements(const Value&, const Value&)      whether they are the same elements of one memory, in one order
///   copies_arguments                                    whether calls copy arguments that no op changes
///   std::vector<Value> run(const Op&, const std::vector<Value>& operands, const Watch&)
///   void end()                                          variables are where the task has them, after a complete run
///   void abandon()                                      frees what a run holds
///   counts(), profile()                                 as of ExecutionEngine
template <class Store>
class OpByOpEngine : public ExecutionEngine {
 public:
  using Value = typename Store::Value;

  explicit OpByOpEngine(const EngineTask& task) : OpByOpEngine(task, Store(task)) {}
  OpByOpEngine(const EngineTask& task, Store store)
      : task_(task),
        main_(task.ir.main()),
        facts_(task),
        store_(std::move(store)),
        replica_{task.replica, task.ir.replication_factor} {
    if (known(main_).changes)
      for (const Tensor* v : task.ir.variables()) variables_.push_back(v);
    for (const auto& [stream, n] : known(main_).transfers) {
      port_of_[stream] = ports_.size();
      ports_.push_back({stream, nullptr, stream->spec().bytes(), stream->spec().bytes(), n, {}});
    }
  }

  std::vector<StreamPort>& ports() override { return ports_; }
  const std::vector<const Tensor*>& changed_variables() const override { return variables_; }
  bool fallible_after_commit() const override { return true; }
  bool may_skip_stores() const override { return facts_.branches(); }
  ExecutionEngine& observed(RunObserver* observer) override {
    observer_ = observer;
    return *this;
  }
  std::unique_ptr<ExecutionEngine> for_replica(const EngineTask& task) const override {
    return std::make_unique<OpByOpEngine>(task, Store(store_, task));
  }
  std::vector<std::pair<std::string_view, int64_t>> counts() const override { return store_.counts(); }
  std::string profile() const override { return store_.profile(); }
  Store& store() { return store_; }
  const Store& store() const { return store_; }

  void begin(const std::function<bool()>& commit) override {
    commit_ = &commit;
    committed_ = false;
    polls_ = true;
    at_ = nullptr;
    exchange_.reset();
    running_.clear();
    store_.begin();
    enter(main_, {});
  }

  std::span<const CollectiveStop> advance() override {
    const FlushSubnormals flush;
    try {
      if (exchange_) finish_exchange();
      while (!running_.empty()) {
        Activation& a = *running_.back();
        if (a.next == a.known->order.size()) {
          leave();
          continue;
        }
        const Op& op = *a.known->order[a.next++];
        if (polls_) check_interrupt();
        at_ = &op;
        if (is_exchanged(op)) return {&begin_exchange(op, a.frame), 1};
        run_op(op, a);
        // An operand that was only an argument is free while the called graph runs.
        forget_operands(a);
      }
      store_.end();
    } catch (Error& error) {
      if (error.first().fault == Fault::refused) error.first().fault = Fault::failed;
      if (at_) error.locate(at_->origin.span, at_->origin.frames);
      ended();
      throw;
    } catch (...) {
      ended();
      throw;
    }
    ended();
    return {};
  }

 private:
  using Frame = std::unordered_map<const Tensor*, Value>;
  const GraphFacts::Known& known(const Graph& graph) { return facts_.known(graph); }

  /// An observer sees the run that it was given to.
  void ended() {
    observer_ = nullptr;
    commit_ = nullptr;
    at_ = nullptr;
    exchange_.reset();
    running_.clear();
    store_.abandon();
  }

  /// A graph that runs. The last one goes on; the others wait at the op that calls the next one.
  struct Activation {
    const GraphFacts::Known* known = nullptr;
    Frame frame = {};
    size_t next = 0;                ///< in known->order
    std::vector<Value> given = {};  ///< of the loop that waits: operands of the next iteration
    int64_t left = 0;               ///< of the loop that waits: iterations
  };

  void enter(const Graph& graph, const std::vector<Value>& inputs) {
    const GraphFacts::Known& k = known(graph);
    running_.push_back(std::make_unique<Activation>());
    running_.back()->known = &k;
    Frame& frame = running_.back()->frame;
    for (size_t i = 0; i < inputs.size(); ++i) frame[graph.inputs()[i]] = inputs[i];
    for (const Tensor* t : k.sources) frame[t] = store_.source(*t, k.changes);
  }

  /// The outputs of the graph that ends, as they are now, go to the op that called it: values of their own.
  void leave() {
    const GraphFacts::Known& k = *running_.back()->known;
    Frame& frame = running_.back()->frame;
    if (running_.size() == 1) {
      if (task_.result) store_.read(frame.at(k.outputs[0]), task_.to);
      running_.pop_back();
      return;
    }
    Activation& caller = *running_[running_.size() - 2];
    const Op& op = *caller.known->order[caller.next - 1];
    std::vector<Value> outputs;
    for (size_t i = 0; i < op.outputs.size(); ++i)
      outputs.push_back(store_.copied(frame.at(k.outputs[i]), result_of(op, i)));
    running_.pop_back();
    at_ = &op;
    if (op.row->role != Role::loop) return give(op, caller, std::move(outputs));
    for (size_t i = 0; i < op.outputs.size(); ++i) caller.given[i] = std::move(outputs[i]);
    --caller.left;
    go_on_with_loop(op, caller);
  }
  /// The tensor that receives result i: for a loop, the operand of the next iteration.
  static const Tensor& result_of(const Op& op, size_t i) {
    return op.row->role == Role::loop ? *op.called[0]->inputs()[i] : *op.outputs[i];
  }

  /// The arguments for a called graph: the memory itself if its changes reach the caller, else a copy of the value.
  std::vector<Value> arguments(const Op& op, const Graph& callee, Frame& frame, size_t first) {
    std::vector<Value> in;
    for (size_t i = 0; i < callee.inputs().size(); ++i) {
      const Value& given = frame.at(op.inputs[first + i]);
      const bool shared = op.modifies(first + i) || (!Store::copies_arguments && !known(callee).changes);
      if (op.modifies(first + i)) about_to_change(given);
      in.push_back(shared ? given : store_.copied(given, *callee.inputs()[i]));
    }
    return in;
  }

  /// Frees operands of the op that was begun last which no later op reads.
  void forget_operands(Activation& a) {
    for (const Tensor* t : a.known->dying[a.next - 1]) a.frame.erase(t);
  }

  void give(const Op& op, Activation& a, std::vector<Value> values) {
    for (size_t i = 0; i < op.outputs.size(); ++i) a.frame[op.outputs[i]] = std::move(values[i]);
    for (const Tensor* t : a.known->unread[a.next - 1]) a.frame.erase(t);
  }

  void run_op(const Op& op, Activation& a) {
    Frame& frame = a.frame;
    switch (op.row->role) {
      case Role::call: enter(*op.called[0], arguments(op, *op.called[0], frame, 0)); break;
      case Role::loop: begin_loop(op, a); break;
      case Role::branch: {
        const bool yes = is_true(frame.at(op.inputs[0]));
        const Graph& taken = *op.called[yes ? 0 : 1];
        enter(taken, arguments(op, taken, frame, callee_operand_begin(op, yes ? 0 : 1)));
        break;
      }
      case Role::host_load: {
        StreamPort& port = ports_[port_of_.at(op.stream)];
        frame[op.outputs[0]] = store_.made(*op.outputs[0], port.next);
        port.next += port.stride;
        break;
      }
      case Role::host_store: {
        StreamPort& port = ports_[port_of_.at(op.stream)];
        store_.read(frame.at(op.inputs[0]), port.next);
        port.next += port.stride;
        break;
      }
      case Role::remote_load: {
        const std::byte* contents = remote_memory(op).at(entry_of(op, frame));
        if (op.row->modifies == 0) {
          frame[op.outputs[0]] = store_.made(*op.outputs[0], contents);
          break;
        }
        const Value& changed = frame.at(op.inputs[0]);
        about_to_change(changed);
        store_.write(changed, contents);
        frame[op.outputs[0]] = Value(changed);
        break;
      }
      case Role::remote_store: {
        const int64_t entry = entry_of(op, frame);
        remote_memory(op).replace(entry);
        store_.read(frame.at(op.inputs[0]), remote_memory(op).written(entry));
        break;
      }
      case Role::compute:
      case Role::composite: compute(op, a); break;
    }
  }

  // The outputs of the body are the first operands of the next iteration. Each iteration gets the loop's other
  // operands, except for changes that reach them by reference.
  void begin_loop(const Op& op, Activation& a) {
    const Graph& body = *op.called[0];
    a.given = arguments(op, body, a.frame, 0);
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (!Store::copies_arguments || op.modifies(i)) a.given[i] = store_.copied(a.given[i], *body.inputs()[i]);
    a.left = iteration_limit(op);
    go_on_with_loop(op, a);
  }
  void go_on_with_loop(const Op& op, Activation& a) {
    const Graph& body = *op.called[0];
    const auto condition = loop_condition(op);
    const bool goes_on = condition ? is_true(a.given[*condition]) : a.left > 0;
    if (goes_on && a.left == 0) throw goes_on_beyond_bound(op);
    if (goes_on) {
      // An iteration's results take the place of its first operands, whose memory is free after their last use.
      std::vector<Value> given(a.given.size());
      for (size_t i = 0; i < given.size(); ++i) {
        const Tensor& input = *body.inputs()[i];
        if (i < op.outputs.size())
          given[i] = std::exchange(a.given[i], {});
        else if (known(body).changed.count(&input) > 0 && !op.modifies(i))
          given[i] = store_.copied(a.given[i], input);
        else
          given[i] = a.given[i];
      }
      enter(body, given);
      return;
    }
    a.given.resize(op.outputs.size());
    give(op, a, std::move(a.given));
    a.given.clear();
  }

  /// Of a bool of one element.
  bool is_true(const Value& condition) const {
    std::byte element{0};
    store_.read(condition, &element);
    return element != std::byte{0};
  }

  void about_to_change(const Value& value) {
    if (!store_.of_variable(value) || committed_) return;
    committed_ = true;
    polls_ = (*commit_)();
  }

  RemoteMemory& remote_memory(const Op& op) const { return *task_.remote(remote_buffer_of(op)); }
  /// The number of the entry that the op names; throws if the buffer does not have it.
  int64_t entry_of(const Op& op, const Frame& frame) const {
    Array number(op.inputs[1]->spec.dtype, op.inputs[1]->spec.shape);
    store_.read(frame.at(op.inputs[1]), number.mutable_raw());
    const int64_t entry = number.integer(0);
    remote_memory(op).check(entry);
    return entry;
  }

  void compute(const Op& op, Activation& a) {
    Frame& frame = a.frame;
    std::vector<Value> in(op.inputs.size());
    for (size_t i = 0; i < in.size(); ++i)
      if (op.inputs[i]) in[i] = frame.at(op.inputs[i]);
    for (size_t i = 0; i < in.size(); ++i)
      if (op.inputs[i] && op.modifies(i)) about_to_change(in[i]);
    separate(op, in);
    // A store may write a result over an operand that nothing else refers to.
    forget_operands(a);
    give(op, a, store_.run(op, in, {observer_, replica_, a.known}));
  }

  /// Copies operands that share memory with what the op modifies, unless it reads them in place.
  void separate(const Op& op, std::vector<Value>& in) {
    for (size_t changed = 0; changed < in.size(); ++changed) {
      if (!op.inputs[changed] || !op.modifies(changed)) continue;
      for (size_t i = 0; i < in.size(); ++i) {
        if (i == changed || !op.inputs[i] || !store_.share_memory(in[changed], in[i])) continue;
        if (reads_in_place(*op.row, changed) && store_.same_elements(in[changed], in[i])) continue;
        in[i] = store_.copied(in[i], *op.inputs[i]);
      }
    }
  }

  /// A collective that waits for the other replicas: its operand and its result, dense.
  struct PendingExchange {
    const Op& op;
    Kernel kernel;
    std::vector<Array> in, out;
    bool in_place;
    CollectiveStop stop = {};

    explicit PendingExchange(const Op& the_op) : op(the_op), in_place(op.row->alias >= 0) {
      kernel = definition_kernel(OpContextStorage(op).site);
      in.emplace_back(op.inputs[0]->spec.dtype, op.inputs[0]->spec.shape);
      if (in_place)
        out.push_back(in[0]);
      else
        out.emplace_back(op.outputs[0]->spec.dtype, op.outputs[0]->spec.shape);
      for (size_t i = 1; i < op.inputs.size(); ++i) in.emplace_back(DType::float32, Shape{0});
      std::byte* operand = in[0].mutable_raw();
      stop = {&op, &kernel, operand, in_place ? operand : out[0].mutable_raw(), 0, true};
    }
    PendingExchange(const PendingExchange&) = delete;
    PendingExchange& operator=(const PendingExchange&) = delete;
    OpView view(const ReplicaNumber& replica) const { return {op, in, out, replica.number, replica.count}; }
  };

  const CollectiveStop& begin_exchange(const Op& op, const Frame& frame) {
    const Value& in = frame.at(op.inputs[0]);
    if (op.modifies(0)) about_to_change(in);
    exchange_ = std::make_unique<PendingExchange>(op);
    store_.read(in, const_cast<std::byte*>(exchange_->stop.in));
    if (observer_) observer_->before(exchange_->view(replica_));
    return exchange_->stop;
  }
  void finish_exchange() {
    const std::unique_ptr<PendingExchange> e = std::move(exchange_);
    if (observer_) observer_->after(e->view(replica_));
    Frame& frame = running_.back()->frame;
    if (e->in_place) {
      const Value& changed = frame.at(e->op.inputs[0]);
      store_.write(changed, e->stop.out);
      frame[e->op.outputs[0]] = Value(changed);
    } else {
      frame[e->op.outputs[0]] = store_.made(*e->op.outputs[0], e->stop.out);
    }
    forget_operands(*running_.back());
  }

  EngineTask task_;
  const Graph& main_;
  GraphFacts facts_;
  Store store_;
  ReplicaNumber replica_;
  std::vector<const Tensor*> variables_;
  std::vector<StreamPort> ports_;
  StreamMap<size_t> port_of_;
  std::vector<std::unique_ptr<Activation>> running_;
  std::unique_ptr<PendingExchange> exchange_;
  RunObserver* observer_ = nullptr;
  const std::function<bool()>* commit_ = nullptr;
  bool committed_ = false, polls_ = true;
  const Op* at_ = nullptr;  ///< for messages
};

}  // namespace pxl
