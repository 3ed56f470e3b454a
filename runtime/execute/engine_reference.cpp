// The engine that runs op by op, each by its definition: what a program means.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/codes.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/subnormals.hpp"
#include "runtime/execute/engines.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/plan/plan.hpp"

namespace pxl {

namespace {

/// Memory of one tensor, from its making to its last view.
struct Storage {
  Array own = {};  ///< empty where the memory is a variable's
  std::byte* data = nullptr;
  bool of_variable = false;
};
using StoragePtr = std::shared_ptr<Storage>;

/// A tensor's elements: dense in one storage, or, of views, an address each. `owners` keep the memory.
struct Elements {
  TensorSpec spec = {};
  std::byte* dense = nullptr;
  std::shared_ptr<const std::vector<uint64_t>> addresses = nullptr;
  std::vector<StoragePtr> owners = {};

  bool of_variable() const {
    return std::any_of(owners.begin(), owners.end(), [](const StoragePtr& s) { return s->of_variable; });
  }
  std::byte* at(int64_t i) const {
    return addresses ? reinterpret_cast<std::byte*>((*addresses)[static_cast<size_t>(i)])
                     : dense + i * static_cast<int64_t>(size_of(spec.dtype));
  }
  void read(std::byte* to) const {
    const size_t width = size_of(spec.dtype);
    const int64_t n = spec.size();
    if (!addresses) {
      std::copy_n(dense, n * static_cast<int64_t>(width), to);
      return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + static_cast<size_t>(i) * width, at(i), width);
  }
  void write(const std::byte* from) const {
    const size_t width = size_of(spec.dtype);
    const int64_t n = spec.size();
    if (!addresses) {
      std::memmove(dense, from, static_cast<size_t>(n) * width);
      return;
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(at(i), from + static_cast<size_t>(i) * width, width);
  }
};

Elements fresh(const TensorSpec& spec) {
  auto storage = std::make_shared<Storage>();
  storage->own = Array(spec.dtype, spec.shape);
  storage->data = storage->own.mutable_raw();
  return {spec, storage->data, nullptr, {storage}};
}

Elements copied(const Elements& from) {
  Elements to = fresh(from.spec);
  from.read(to.dense);
  return to;
}

/// The elements of a dense tensor, or those of a view gathered for as long as this lives.
struct Dense {
  Array gathered = {};
  std::byte* data = nullptr;
  explicit Dense(const Elements& e) {
    if (!e.addresses) {
      data = e.dense;
      return;
    }
    gathered = Array(e.spec.dtype, e.spec.shape);
    data = gathered.mutable_raw();
    e.read(data);
  }
};

constexpr int64_t many = int64_t{1} << 60;  // transfers beyond which they are not counted
int64_t multiplied(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? many : std::min(product, many);
}

class ReferenceEngine : public ExecutionEngine {
 public:
  explicit ReferenceEngine(const EngineTask& task)
      : task_(task), main_(task.ir.main()), replica_{task.replica, task.ir.replication_factor} {
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
  bool may_skip_stores() const override { return branches_; }
  ExecutionEngine& observed(RunObserver* observer) override {
    observer_ = observer;
    return *this;
  }

  void begin(const std::function<bool()>& commit) override {
    commit_ = &commit;
    committed_ = false;
    polls_ = true;
    at_ = nullptr;
    exchange_.reset();
    running_.clear();
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
      }
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

  std::unique_ptr<ExecutionEngine> for_replica(const EngineTask& task) const override {
    return std::make_unique<ReferenceEngine>(task);
  }

 private:
  /// An observer sees the run that it was given to.
  void ended() {
    observer_ = nullptr;
    commit_ = nullptr;
    at_ = nullptr;
    exchange_.reset();
    running_.clear();
  }

  using Frame = std::unordered_map<const Tensor*, Elements>;

  /// What running a graph again and again needs to know of it.
  struct Known {
    std::vector<Op*> order;
    std::vector<const Tensor*> sources;  ///< variables and constants
    bool changes = false;                ///< some op may change memory
    bool effects = false;                ///< some op prints, loads or stores
    std::vector<const Tensor*> outputs;
    std::map<const Stream*, int64_t> transfers;
  };
  const Known& known(const Graph& graph) {
    const auto found = known_.find(&graph);
    if (found != known_.end()) return *found->second;
    auto k = std::make_unique<Known>();
    for (const auto& t : graph.tensors())
      if (t->kind == TensorKind::variable || t->kind == TensorKind::constant) k->sources.push_back(t.get());
    const bool is_result = task_.result && &graph == &main_;
    k->outputs.assign(graph.outputs().begin(), graph.outputs().end());
    if (is_result) k->outputs = {task_.result};
    k->order = needed(graph, k->outputs, !task_.result ? Keep::all : is_result ? Keep::results : Keep::state);
    for (const Op* op : k->order) {
      for (size_t i = 0; i < op->inputs.size(); ++i) k->changes = k->changes || (op->inputs[i] && op->modifies(i));
      std::map<const Stream*, int64_t> most;
      for (const Graph* callee : op->called) {
        const Known& inner = known(*callee);
        k->changes = k->changes || inner.changes;
        k->effects = k->effects || inner.effects;
        const int64_t n = op->row->role == Role::loop ? count_of(*op) : 1;
        for (const auto& [stream, each] : inner.transfers) most[stream] = std::max(most[stream], multiplied(each, n));
      }
      k->effects = k->effects || op->row->side_effect || op->stream;
      branches_ = branches_ || op->row->role == Role::branch;
      if (op->stream) most[op->stream] += 1;
      for (const auto& [stream, n] : most) k->transfers[stream] = std::min(many, k->transfers[stream] + n);
    }
    return *known_.emplace(&graph, std::move(k)).first->second;
  }

  /// The ops of a run, in order: those whose results the outputs need, and those with effects that `keep` names.
  std::vector<Op*> needed(const Graph& graph, const std::vector<const Tensor*>& outputs, Keep keep) {
    // Tensors that share memory are a set of which one is the name.
    std::unordered_map<const Tensor*, const Tensor*> shared;
    const auto memory = [&](const Tensor* t) {
      for (auto found = shared.find(t); found != shared.end(); found = shared.find(t)) t = found->second;
      return t;
    };
    const std::vector<Op*> all = schedule_order(graph);
    for (const Op* op : all) {
      if (op->row->alias < 0 || op->outputs.empty()) continue;
      for (size_t slot = 0; slot < op->inputs.size(); ++slot) {
        const bool shares = op->row->parts || slot == static_cast<size_t>(op->row->alias);
        if (!shares || !op->inputs[slot]) continue;
        const Tensor *of = memory(op->inputs[slot]), *name = memory(op->outputs[0]);
        if (of != name) shared[of] = name;
      }
    }
    std::unordered_set<const Tensor*> used, outer;
    std::unordered_set<const Stream*> streams;  // a needed load gets its sample only after the loads before it
    for (const Tensor* t : outputs) used.insert(memory(t));
    for (const auto& t : graph.tensors())
      if (t->kind == TensorKind::variable || t->kind == TensorKind::input) outer.insert(memory(t.get()));
    std::vector<Op*> kept;
    for (size_t i = all.size(); i-- > 0;) {
      Op* op = all[i];
      std::vector<const Stream*> loaded;
      if (op->stream && op->stream->to_device) loaded.push_back(op->stream);
      bool is_needed = keep == Keep::all && (op->row->side_effect || op->stream);
      for (const Graph* callee : op->called) {
        is_needed = is_needed || (keep == Keep::all && known(*callee).effects);
        for (const auto& [stream, n] : known(*callee).transfers)
          if (stream->to_device) loaded.push_back(stream);
      }
      for (const Tensor* t : op->outputs) is_needed = is_needed || used.count(memory(t)) > 0;
      for (size_t slot = 0; slot < op->inputs.size(); ++slot) {
        if (!op->inputs[slot] || !op->modifies(slot)) continue;
        const Tensor* changed = memory(op->inputs[slot]);
        is_needed = is_needed || keep == Keep::all || used.count(changed) > 0 ||
                    (keep == Keep::state && outer.count(changed) > 0);
      }
      for (const Stream* stream : loaded) is_needed = is_needed || keep == Keep::state || streams.count(stream) > 0;
      if (!is_needed) continue;
      kept.push_back(op);
      // A load overwrites its operand without reading it.
      for (const Tensor* t : op->inputs)
        if (t && op->row->role != Role::host_load) used.insert(memory(t));
      streams.insert(loaded.begin(), loaded.end());
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  static int64_t count_of(const Op& op) {
    return std::max<int64_t>(0, std::get<int64_t>(op.attrs[param_index(*op.row, "count")]));
  }

  /// A graph that runs. The last one goes on; the others wait at the op that calls the next one.
  struct Activation {
    const Known* known = nullptr;
    Frame frame = {};
    size_t next = 0;                   ///< in known->order
    std::vector<Elements> given = {};  ///< of the loop that waits: operands of the next iteration
    int64_t left = 0;                  ///< of the loop that waits: iterations
  };

  void enter(const Graph& graph, const std::vector<Elements>& inputs) {
    const Known& k = known(graph);
    running_.push_back(std::make_unique<Activation>());
    running_.back()->known = &k;
    Frame& frame = running_.back()->frame;
    for (size_t i = 0; i < inputs.size(); ++i) frame[graph.inputs()[i]] = inputs[i];
    for (const Tensor* t : k.sources) {
      auto storage = std::make_shared<Storage>();
      storage->of_variable = t->kind == TensorKind::variable;
      if (storage->of_variable) {
        storage->data = task_.variable(t);
      } else {
        storage->own = k.changes ? t->data.clone() : t->data;
        storage->data = const_cast<std::byte*>(storage->own.raw());  // nobody writes to it where it is shared
      }
      frame[t] = {t->spec, storage->data, nullptr, {storage}};
    }
  }

  /// The outputs of the graph that ends, as they are now, go to the op that called it: values of their own.
  void leave() {
    std::vector<Elements> outputs;
    for (const Tensor* t : running_.back()->known->outputs) outputs.push_back(copied(running_.back()->frame.at(t)));
    running_.pop_back();
    if (running_.empty()) {
      if (task_.result) outputs[0].read(task_.to);
      return;
    }
    Activation& caller = *running_.back();
    const Op& op = *caller.known->order[caller.next - 1];
    at_ = &op;
    if (op.row->role != Role::loop) return give(op, caller.frame, std::move(outputs));
    for (size_t i = 0; i < op.outputs.size(); ++i) caller.given[i] = std::move(outputs[i]);
    --caller.left;
    go_on_with_loop(op, caller);
  }

  /// What a called graph gets: the memory itself where its changes reach the caller, else a value.
  std::vector<Elements> arguments(const Op& op, const Graph& callee, Frame& frame, size_t first) {
    std::vector<Elements> in;
    for (size_t i = 0; i < callee.inputs().size(); ++i) {
      const Elements& given = frame.at(op.inputs[first + i]);
      const bool shared = op.modifies(first + i) || !known(callee).changes;
      if (op.modifies(first + i)) about_to_change(given);
      in.push_back(shared ? given : copied(given));
    }
    return in;
  }

  void give(const Op& op, Frame& frame, std::vector<Elements> values) {
    for (size_t i = 0; i < op.outputs.size(); ++i) frame[op.outputs[i]] = std::move(values[i]);
  }

  void run_op(const Op& op, Activation& a) {
    Frame& frame = a.frame;
    switch (op.row->role) {
      case Role::call: enter(*op.called[0], arguments(op, *op.called[0], frame, 0)); break;
      case Role::loop: begin_loop(op, a); break;
      case Role::branch: {
        const bool yes = *frame.at(op.inputs[0]).at(0) != std::byte{0};
        const Graph& taken = *op.called[yes ? 0 : 1];
        enter(taken, arguments(op, taken, frame, yes ? 1 : 1 + op.called[0]->inputs().size()));
        break;
      }
      case Role::host_load: {
        StreamPort& port = ports_[port_of_.at(op.stream)];
        const Elements sample = fresh(op.outputs[0]->spec);
        sample.write(port.next);
        port.next += port.stride;
        frame[op.outputs[0]] = sample;
        break;
      }
      case Role::host_store: {
        StreamPort& port = ports_[port_of_.at(op.stream)];
        frame.at(op.inputs[0]).read(port.next);
        port.next += port.stride;
        break;
      }
      case Role::compute:
      case Role::composite: compute(op, frame); break;
    }
  }

  // The outputs of the body are the first operands of the next iteration; the others are in each what the loop was
  // given, but those that a change reaches by reference.
  void begin_loop(const Op& op, Activation& a) {
    a.given = arguments(op, *op.called[0], a.frame, 0);
    for (size_t i = 0; i < op.outputs.size(); ++i) a.given[i] = copied(a.given[i]);
    a.left = count_of(op);
    go_on_with_loop(op, a);
  }
  void go_on_with_loop(const Op& op, Activation& a) {
    if (a.left > 0) {
      std::vector<Elements> given = a.given;
      for (size_t i = op.outputs.size(); known(*op.called[0]).changes && i < given.size(); ++i)
        if (!op.modifies(i)) given[i] = copied(given[i]);
      enter(*op.called[0], given);
      return;
    }
    a.given.resize(op.outputs.size());
    give(op, a.frame, std::move(a.given));
    a.given.clear();
  }

  void about_to_change(const Elements& e) {
    if (!e.of_variable() || committed_) return;
    committed_ = true;
    polls_ = (*commit_)();
  }

  void compute(const Op& op, Frame& frame) {
    const OpRow& row = *op.row;
    const OpContextStorage storage(op);
    const bool is_alias = row.alias >= 0, is_view = is_alias && row.modifies == 0;
    std::vector<Elements> in(op.inputs.size());
    for (size_t i = 0; i < in.size(); ++i)
      if (op.inputs[i]) in[i] = frame.at(op.inputs[i]);
    std::vector<Elements> out;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      if (i == 0 && is_view)
        out.push_back(view(storage.site, in));
      else if (i == 0 && is_alias)
        out.push_back(in[static_cast<size_t>(row.alias)]);
      else
        out.push_back(fresh(op.outputs[i]->spec));
    }
    for (size_t i = 0; i < in.size(); ++i)
      if (op.inputs[i] && op.modifies(i)) about_to_change(in[i]);

    std::vector<Dense> from, to;
    std::vector<const std::byte*> from_data;
    std::vector<std::byte*> to_data;
    for (size_t i = 0; i < in.size(); ++i) {
      from.emplace_back(op.inputs[i] ? in[i] : Elements{});
      from_data.push_back(op.inputs[i] ? from.back().data : nullptr);
    }
    if (row.exchange == Exchange::replica) from_data.push_back(reinterpret_cast<const std::byte*>(&replica_));
    for (size_t i = 0; i < out.size(); ++i) {
      to.emplace_back(out[i]);
      // Changed in place: one copy of the elements, where they are copied.
      const bool own = i != 0 || !is_alias || is_view;
      to_data.push_back(own ? to.back().data : from[static_cast<size_t>(row.alias)].data);
    }
    std::vector<Array> seen_in, seen_out;
    if (observer_) {
      seen_in = seen(op.inputs, from_data.data());
      seen_out = seen(op.outputs, to_data.data());
      observer_->before({op, seen_in, seen_out, replica_.number, replica_.count});
    }
    if (!is_view) {
      definition_kernel(storage.site)(Buffers{from_data.data(), to_data.data()});
      for (size_t i = 0; i < in.size(); ++i)
        if (op.inputs[i] && op.modifies(i) && in[i].addresses) in[i].write(from[i].data);
    }
    if (observer_) observer_->after({op, seen_in, seen_out, replica_.number, replica_.count});
    for (size_t i = 0; i < out.size(); ++i) frame[op.outputs[i]] = out[i];
  }

  /// A collective that waits for the other replicas: its operand, dense, and where its result goes.
  struct PendingExchange {
    const Op& op;
    Kernel kernel;
    Elements in, out;
    Dense operand;
    bool in_place;
    CollectiveStop stop = {};
    std::vector<Array> seen_in = {}, seen_out = {};

    PendingExchange(const Op& the_op, Elements from)
        : op(the_op), in(std::move(from)), operand(in), in_place(op.row->alias >= 0) {
      kernel = definition_kernel(OpContextStorage(op).site);
      out = in_place ? in : fresh(op.outputs[0]->spec);
      stop = {&op, &kernel, operand.data, in_place ? operand.data : out.dense};
    }
    PendingExchange(const PendingExchange&) = delete;
    PendingExchange& operator=(const PendingExchange&) = delete;
  };

  const CollectiveStop& begin_exchange(const Op& op, const Frame& frame) {
    const Elements& in = frame.at(op.inputs[0]);
    if (op.modifies(0)) about_to_change(in);
    exchange_ = std::make_unique<PendingExchange>(op, in);
    if (observer_) {
      exchange_->seen_in = seen(op.inputs, &exchange_->stop.in);
      exchange_->seen_out = seen(op.outputs, &exchange_->stop.out);
      observer_->before({op, exchange_->seen_in, exchange_->seen_out, replica_.number, replica_.count});
    }
    return exchange_->stop;
  }
  void finish_exchange() {
    const std::unique_ptr<PendingExchange> e = std::move(exchange_);
    if (e->in_place && e->in.addresses) e->in.write(e->operand.data);
    if (observer_) observer_->after({e->op, e->seen_in, e->seen_out, replica_.number, replica_.count});
    running_.back()->frame[e->op.outputs[0]] = e->out;
  }

  /// A view moves the addresses of elements as its op moves elements.
  static Elements view(const OpContext& site, const std::vector<Elements>& in) {
    Elements result{site.out[0], nullptr, nullptr, {}};
    std::vector<TensorSpec> specs, out{site.out[0]};
    std::vector<const TensorSpec*> slots;
    std::vector<std::vector<uint64_t>> addresses(in.size());
    std::vector<const std::byte*> from;
    for (size_t i = 0; i < in.size(); ++i) {
      specs.push_back(in[i].spec);
      specs.back().dtype = DType::uint64;
      for (int64_t e = 0; e < in[i].spec.size(); ++e) addresses[i].push_back(reinterpret_cast<uint64_t>(in[i].at(e)));
      from.push_back(reinterpret_cast<const std::byte*>(addresses[i].data()));
      result.owners.insert(result.owners.end(), in[i].owners.begin(), in[i].owners.end());
    }
    for (const TensorSpec& spec : specs) slots.push_back(&spec);
    out[0].dtype = DType::uint64;
    std::vector<uint64_t> moved(static_cast<size_t>(out[0].size()));
    OpContext moving{.row = site.row, .in = slots, .attrs = site.attrs, .out = out};
    std::byte* to = reinterpret_cast<std::byte*>(moved.data());
    definition_kernel(moving)(Buffers{from.data(), &to});
    result.addresses = std::make_shared<const std::vector<uint64_t>>(std::move(moved));
    return result;
  }

  static std::vector<Array> seen(const std::vector<Tensor*>& tensors, const std::byte* const* memory) {
    std::vector<Array> arrays;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i]) {
        arrays.emplace_back(DType::float32, Shape{0});
        continue;
      }
      const std::shared_ptr<std::byte> data(const_cast<std::byte*>(memory[i]), [](std::byte*) {});
      arrays.push_back(Array::wrap(tensors[i]->spec.dtype, tensors[i]->spec.shape, data));
    }
    return arrays;
  }

  EngineTask task_;
  const Graph& main_;
  std::vector<const Tensor*> variables_;
  std::vector<StreamPort> ports_;
  std::map<const Stream*, size_t> port_of_;
  std::unordered_map<const Graph*, std::unique_ptr<Known>> known_;
  bool branches_ = false;
  ReplicaNumber replica_;
  std::vector<std::unique_ptr<Activation>> running_;
  std::unique_ptr<PendingExchange> exchange_;
  RunObserver* observer_ = nullptr;
  const std::function<bool()>* commit_ = nullptr;
  bool committed_ = false, polls_ = true;
  const Op* at_ = nullptr;  ///< for messages
};

}  // namespace

// Walks the graph and runs the definition of each op. Tensors are addresses of elements, so that a view shares the
// memory of its operand by construction.
std::unique_ptr<ExecutionEngine> make_reference_engine(const EngineTask& task) {
  // What a program may do does not depend on the engine: the planner finds changes of memory that has two names. The
  // plan itself is not used.
  Planner planner(PlanOptions::reference());
  if (task.result)
    planner.plan_tensor(*task.result);
  else
    planner.plan(task.ir.main());
  return std::make_unique<ReferenceEngine>(task);
}

}  // namespace pxl
