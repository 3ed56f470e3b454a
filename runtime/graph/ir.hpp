// The graph IR, the interface between building (interpreter, transforms) and execution. An Ir owns its graphs, a Graph
// owns its tensors and ops; pointers stay valid while the Ir lives. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/graph/variable_path.hpp"
#include "runtime/op/op.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

class Graph;
class Ir;
struct Op;

/// Source location at which something was created.
struct Origin {
  Span span;
  FramePtr frames;
};

enum class TensorKind : uint8_t { variable, constant, input, result, stream };

/// The name without its scopes: "weight" of "fc1/weight".
inline std::string_view last_part(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

/// An entry of a remote buffer (Ir::remote_buffers).
struct RemoteEntry {
  int64_t buffer = 0, entry = 0;
};

struct Tensor {
  TensorKind kind;
  std::string id;    ///< "<graph id>/<scopes>/<name>", unique in the Ir; the main graph's id is empty
  std::string name;  ///< id without the graph's part: "fc1/weight"
  std::string key;   ///< dotted name in the graph's named tree ("fc1.weight"); empty for positional inputs
  TensorSpec spec;
  Graph* graph = nullptr;
  Op* producer = nullptr;      ///< the op with this output, or nullptr
  int output_index = 0;        ///< which output of the producer
  std::vector<Op*> consumers;  ///< without duplicates, in order of creation
  bool by_ref = false;         ///< inputs: modifications reach the caller's tensor
  Array data;                  ///< variables: initial value, whole; constants: value
  /// Variables: groups of replicas that each hold one value (replica_groups.hpp); `data` then has a row for each group.
  /// Empty: one value for all replicas.
  std::vector<int64_t> groups;
  /// Variables: the entry of a remote buffer that they are; ops reach them by loading it.
  std::optional<RemoteEntry> remote;
  VariablePath path;      ///< variables: the name in checkpoints; until the program is finished only what `init` knew
  bool is_state = false;  ///< variables: the `state` of a build
  /// Variables: the variable of another program in whose memory this one is. It keeps that program alive.
  std::shared_ptr<const Tensor> shared;
  Origin origin;

  /// IPU of the producing op; nullopt for variables, constants and graph inputs.
  std::optional<int> ipu() const;
};

/// Throws if the graph, or the tensor's graph, was taken back; `what` is the use that is refused.
void check_in_effect(std::string_view what, const Graph& graph);
void check_in_effect(std::string_view what, const Tensor& tensor);

/// "Tensor[fc1/weight float32 (784, 512)]"; a subgraph's tensor shows its full id.
std::string text(const Tensor& tensor);

/// A host stream; belongs to the main graph, whichever graph creates it.
struct Stream {
  Tensor* handle = nullptr;  ///< of kind stream; holds the spec
  std::string label;         ///< as declared; unique among the streams of the Ir, independent of tensor names
  bool to_device = true;
  bool used = false;  ///< at least one op loads from it or stores to it
  int number = 0;     ///< the declared order in the Ir
  const TensorSpec& spec() const { return handle->spec; }
  const std::string& name() const { return label; }
};

/// The order of declaration. Addresses would give another order in each process.
struct StreamOrder {
  bool operator()(const Stream* a, const Stream* b) const {
    const int of_a = a ? a->number : -1, of_b = b ? b->number : -1;
    return of_a != of_b ? of_a < of_b : a < b;  // streams of several Irs may share a number
  }
};
template <class T>
using StreamMap = std::map<const Stream*, T, StreamOrder>;
using StreamSet = std::set<const Stream*, StreamOrder>;

/// Entries of one spec in memory that ops load from and store to by number. Each replica has its own.
struct RemoteBuffer {
  TensorSpec spec;  ///< of an entry
  int64_t entries = 1;
  std::string folder = {};  ///< of the file that holds the entries; empty: they are in memory
  bool operator==(const RemoteBuffer&) const = default;
};

struct Op {
  int id = 0;  ///< unique in the Ir, from 100; 0: created by the planner
  const OpRow* row = nullptr;
  Graph* graph = nullptr;
  std::vector<Tensor*> inputs;  ///< by slot; null for an absent optional operand
  std::vector<Tensor*> outputs;
  Attributes attrs;                  ///< parallel to row->params
  std::vector<Graph*> called;        ///< control ops
  Stream* stream = nullptr;          ///< host_load, host_store
  std::vector<Op*> after;            ///< ops of the same graph that must run before this one (control dependencies)
  std::vector<bool> input_modified;  ///< call sites: set_parent_input_modified, by slot; empty: none
  std::optional<int> ipu;
  bool io_tiles = false;
  Origin origin;

  /// Whether this op modifies the memory of input `slot` (in-place op, or a by-ref or marked call input).
  bool modifies(size_t slot) const;
  /// Whether output 0 shares memory with input `slot`, in full or in part.
  bool aliases(size_t slot) const;
};

/// Makes another tensor of the op's graph the operand of a slot.
void replace_input(Op& op, size_t slot, Tensor* by);

/// Whether an op is a collective whose groups have more than one replica: it needs what others have.
bool is_exchanged(const Op& op);

/// Storage of an op's context; must outlive the context, and the op it. It has the operands that a kernel gets
/// (Exchange).
struct OpContextStorage {
  std::vector<const TensorSpec*> in;
  std::vector<TensorSpec> out;
  OpContext site;
  explicit OpContextStorage(const Op& op);
};

class Graph {
 public:
  Graph(Ir& ir, std::string id, std::string title);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Ir& ir() const { return ir_; }
  const std::string& id() const { return id_; }  ///< "Linear_subgraph(0)"; empty for the main graph
  const std::string& name() const { return id_; }
  const std::string& title() const { return title_; }  ///< name of the function or module: "Linear"
  bool is_main() const { return id_.empty(); }
  /// Whether it was taken back (Ir::take_back_since): nothing can be built of it any more.
  bool is_taken_back() const { return taken_back_; }

  const std::vector<Tensor*>& inputs() const { return inputs_; }
  const std::vector<Tensor*>& outputs() const { return outputs_; }
  /// Number of outputs that the program returned; stashed outputs of autodiff may follow.
  size_t declared_outputs() const { return declared_outputs_; }
  /// How many of the last inputs are tensors of enclosing graphs that the graph's function uses.
  size_t captured_inputs() const { return captured_inputs_; }
  void set_captured_inputs(size_t count) { captured_inputs_ = count; }
  const std::vector<std::unique_ptr<Op>>& ops() const { return ops_; }  ///< in order of creation
  const std::vector<std::unique_ptr<Tensor>>& tensors() const { return tensors_; }
  const std::vector<Op*>& call_sites() const { return call_sites_; }  ///< ops of any graph that call this one

  /// `key` is the dotted name of a named input; `name` gets name scopes and, on a clash, a "__t{n}" suffix.
  Tensor* add_input(TensorSpec spec, const std::string& name, bool by_ref = false, std::string key = {});
  /// Main graph only; otherwise throws "... outside the main graph".
  /// If `groups` is given, `initial` has a row for each group. If `shard_groups` is given, each replica holds a shard
  /// of the value (shards.hpp). Throws unless the groups consist of the Ir's replicas, and members of a shard group
  /// hold one value. If `remote` is given, the variable is that entry. The entry must have the variable's spec, and
  /// must be no other variable.
  Tensor* add_variable(Array initial, const std::string& name, const std::vector<int64_t>& groups = {},
                       const std::vector<int64_t>& shard_groups = {}, std::optional<RemoteEntry> remote = {});
  /// The variable of this main graph that is in the memory of another program's variable: the one that exists, or a
  /// new one. Throws for an entry of a remote buffer.
  Tensor* share_variable(const std::shared_ptr<Ir>& of, const Tensor& variable);
  Tensor* add_constant(Array value, const std::string& name);
  /// Adds a declared output. The tensor must belong to this graph; inputs and repeated tensors are allowed.
  void add_output(Tensor* tensor);
  /// Adds stashed outputs for autodiff, also to present and future call sites, in order; tensors that are outputs
  /// already are not added again. Returns the indices of all among the outputs.
  std::vector<size_t> add_stashed_outputs(std::span<Tensor* const> tensors);

  /// Creates an op: checks that the inputs belong to this graph and share an IPU, infers and names the outputs. `names`
  /// overrides the row's default names.
  Op* add_op(const OpRow& row, std::vector<Tensor*> inputs, Attributes attrs,
             const std::vector<std::string>& names = {});
  /// Creates a call; `inputs` are parallel to callee.inputs(). Checks specs.
  Op* add_call(Graph& callee, std::vector<Tensor*> inputs);
  /// Creates an op that calls graphs. Inputs: a call and a loop take the callee's; a branch takes the condition (one
  /// bool), the inputs of called[0], then those of called[1]. A loop carries its body's declared outputs into the first
  /// inputs, and they are its outputs; a branch returns the outputs that both graphs declare.
  Op* add_control(const OpRow& row, std::vector<Graph*> called, std::vector<Tensor*> inputs, Attributes attrs = {});
  Op* add_host_load(Stream& stream, const std::string& name);  ///< creates Init and HostLoad: two op ids
  Op* add_host_store(Stream& stream, Tensor* tensor);
  /// Creates RemoteLoad: entry `entry` (one integer) of the Ir's remote buffer `buffer`. `memory`, of the buffer's
  /// spec, is overwritten with `in_place`, and otherwise only a place for the result, as the result of Init is. Throws
  /// if specs do not fit. The loads and stores of a buffer keep their order within a graph, calls that contain some
  /// included.
  Op* add_remote_load(int64_t buffer, Tensor* memory, Tensor* entry, bool in_place, const std::string& name);
  Op* add_remote_store(int64_t buffer, Tensor* tensor, Tensor* entry);

  Tensor* find_tensor(std::string_view id) const;
  bool contains(const Tensor* tensor) const { return tensor && tensor->graph == this; }
  /// Graphs called by ops of this one, without duplicates, in order of first use.
  std::vector<Graph*> called_graphs() const;

  // The next functions serve transforms that clean up a graph that they have just built, before it is called.
  /// Dead code elimination: removes unused ops without side effects, and unused inputs from `first_input` on.
  void prune(size_t first_input);
  void set_inputs(std::vector<Tensor*> permuted);        ///< a permutation of the inputs
  void rename(Tensor* tensor, const std::string& name);  ///< made unique if necessary
  void set_outputs(std::vector<Tensor*> outputs);        ///< replaces the declared outputs
  /// Copies the row, attributes, location and output specs of `from`, which may belong to another graph or Ir, with
  /// other operands. Does not infer again and ignores `in_sequence`.
  Op* copy_op(const Op& from, std::vector<Tensor*> inputs, std::vector<Graph*> called, Stream* stream);
  /// Copies an input, variable or constant, with its name.
  Tensor* copy_source(const Tensor& from);
  /// Moves ops of this graph, with their results, to the end of another graph in the Ir, in the order given, with new
  /// numbers. Operands and order constraints still refer to this graph: the caller replaces them.
  void move_ops(const std::vector<Op*>& ops, Graph& to);
  /// Maximum nesting of calls below this graph, and its limit: a bound on recursion in transforms and engines.
  int depth() const { return depth_; }
  static constexpr int max_depth = 500;

  // Order constraints of `in_sequence`; see InSequence.
  struct Sequencing;

 private:
  friend class InSequence;
  friend class Ir;
  Tensor* new_tensor(TensorKind kind, TensorSpec spec, const std::string& name, bool scoped = true);
  Op* new_op(const OpRow& row, std::vector<Tensor*> inputs, Attributes attrs);
  Tensor* add_result(Op* op, TensorSpec spec, const std::string& name, bool scoped = true);
  void claim_name(Tensor* tensor, std::string name);
  void check_open() const;
  void check_member(std::string_view what, const Tensor* tensor) const;
  void end();
  void sequence(Op* op);

  Ir& ir_;
  std::string id_;
  std::string title_;
  std::vector<Tensor*> inputs_, outputs_;
  size_t declared_outputs_ = 0;
  size_t captured_inputs_ = 0;
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::unordered_map<std::string, Tensor*> by_id_;
  std::vector<Op*> call_sites_;
  int depth_ = 0;
  bool taken_back_ = false;
  std::unique_ptr<Sequencing> sequencing_;

 public:
  ~Graph();
};

/// Order of the ops created in a graph while an InSequence lives (graphs.md, contexts): `yes` chains them; `no` leaves
/// them unordered among themselves but keeps the block's position in an outer chain; `pass` excludes them from the
/// chain. Nests; leave blocks in reverse order.
class InSequence {
 public:
  enum class Mode : uint8_t { yes, no, pass };
  InSequence(Graph& graph, Mode mode);
  ~InSequence();
  InSequence(const InSequence&) = delete;
  InSequence& operator=(const InSequence&) = delete;

 private:
  Graph& graph_;
};

class Ir {
 public:
  explicit Ir(std::string name = "main");
  ~Ir();
  Ir(const Ir&) = delete;
  Ir& operator=(const Ir&) = delete;

  const std::string& name() const { return name_; }  ///< of the declaring program
  Graph& main() { return *graphs_.front(); }
  const Graph& main() const { return *graphs_.front(); }
  const std::vector<std::unique_ptr<Graph>>& graphs() const { return graphs_; }  ///< main graph first

  /// "{title}_subgraph({n})".
  Graph& create_graph(const std::string& title);
  /// "{forward}_bwd", then "{forward}_bwd_{n}".
  Graph& create_gradient_graph(const Graph& forward);

  /// Creates a graph with the same name as a graph in another Ir; consumes no number.
  Graph& create_graph_like(const Graph& other);

  /// A stream of the main graph; makes the name unique among streams. A shard goes through a stream as its
  /// elements.
  Stream& add_stream(const TensorSpec& spec, const std::string& name, bool to_device);
  const std::vector<std::unique_ptr<Stream>>& streams() const { return streams_; }
  Stream* stream_of(const Tensor* handle) const;

  std::vector<Tensor*> variables() const;  ///< of the main graph, in order of creation

  /// Index of a new remote buffer. Throws unless there is at least one entry.
  int64_t add_remote_buffer(RemoteBuffer buffer);
  const std::vector<RemoteBuffer>& remote_buffers() const { return remote_buffers_; }

  int next_op_id() { return next_op_++; }
  int next_suffix() { return next_suffix_++; }

  int replication_factor = 1;
  std::optional<int64_t> num_host_transfers;  ///< nullopt: the number of loads
  bool frozen = false;                        ///< owned by a session: no more additions
  bool open_ended = false;                    ///< sessions run the present ops; later sessions may see more
  Span called_at;                             ///< where the script called the program

  // State of the program that builds this Ir: attributes of the next op.
  Origin origin;
  std::vector<std::string> name_scopes;
  std::optional<int> ipu;
  bool io_tiles = false;

  /// Rollback: removes all graphs, ops, tensors, streams and counters created after `mark()`, so that a failed REPL
  /// input leaves no trace.
  struct Mark;
  std::shared_ptr<const Mark> mark() const;
  void rollback(const Mark& mark);
  /// The same if values may refer to the removed objects. These stay in memory, without the data of tensors, and every
  /// use of them is an error. If nothing was added, `frozen` stays as it is, because sessions may have been made.
  void take_back_since(const Mark& mark);
  /// Whether graphs, ops, streams or tensors were created since the mark. Constants by themselves do not count: an op
  /// that is refused leaves those of its operands.
  bool changed_since(const Mark& mark) const;

  /// Per-Ir caches of transforms (autodiff's memo), by name of the transform.
  std::map<std::string, std::shared_ptr<void>> memo;

 private:
  std::string name_;
  std::vector<std::unique_ptr<Graph>> graphs_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<RemoteBuffer> remote_buffers_;
  void remove_since(const Mark& mark, bool keep);

  std::vector<std::unique_ptr<Graph>> graphs_taken_back_;
  std::vector<std::unique_ptr<Stream>> streams_taken_back_;
  int next_op_ = 100;
  int next_subgraph_ = 0;
  int next_suffix_ = 0;
};

}  // namespace pxl
