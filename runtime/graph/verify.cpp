// IR verifier, one function per subject. Transforms must produce valid graphs, so a violation is an internal error.
#include "runtime/graph/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/pointer_map.hpp"
#include "runtime/base/verification.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/op/shards.hpp"

namespace pxl {

/// An op and a spec as a message shows them. Texts of all ops would take two thirds of the verifier's time.
struct ShownOp {
  const Op& op;
  std::string text() const { return fmt::format("{}.{}", op.row->name, op.id); }
};
struct ShownSpec {
  const TensorSpec& spec;
  std::string text() const { return pxl::text(spec); }
};

}  // namespace pxl

template <class T>
requires std::same_as<T, pxl::ShownOp> || std::same_as<T, pxl::ShownSpec>
struct fmt::formatter<T> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const T& shown, fmt::format_context& context) const {
    const std::string text = shown.text();
    return std::copy(text.begin(), text.end(), context.out());
  }
};

namespace pxl {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    tensors();
    ops();
    interface();
  }

 private:
  /// Pairs of an op and a tensor that it reads; a pair occurs once, however many operands the tensor fills. A pair is
  /// one integer with the numbers in the graph, the op's in the upper half.
  using Uses = std::vector<uint64_t>;
  static uint64_t use(size_t op, size_t tensor) { return static_cast<uint64_t>(op) << 32 | tensor; }

  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> what, Args&&... args) const {
    if (holds) return;
    throw Error(fmt::format("invalid graph `{}`: {}", graph_.id(), fmt::format(what, std::forward<Args>(args)...)), {},
                Fault::internal);
  }

  static ShownOp shown(const Op& op) { return {op}; }
  static ShownSpec shown(const TensorSpec& spec) { return {spec}; }

  /// Tensors belong to the graph, have unique ids with the graph's prefix, and kinds that match their role.
  void tensors() {
    owned_.reserve(graph_.tensors().size());
    for (const auto& t : graph_.tensors()) {
      owned_.emplace(t.get(), owned_.size());
      require(t->graph == &graph_, "tensor `{}` belongs to another graph", t->id);
      // If tensors have the same id, the id finds at most one of them.
      require(graph_.find_tensor(t->id) == t.get(), "tensor `{}` is not found by its id", t->id);
      require(has_prefixed_name(*t), "tensor `{}` has the name `{}`", t->id, t->name);
      require((t->kind == TensorKind::result) == (t->producer != nullptr),
              "tensor `{}` has no producer but is a result, or the reverse", t->id);
      const bool main_only = t->kind == TensorKind::variable || t->kind == TensorKind::stream;
      require(graph_.is_main() || !main_only, "variable or stream `{}` is outside the main graph", t->id);
      require(!t->spec.is_shard() || (is_grouping(t->spec.shard_groups, graph_.ir().replication_factor) &&
                                      t->spec == shard_spec(whole_spec(t->spec), t->spec.shard_groups)),
              "tensor `{}` is no shard, {}", t->id, shown(t->spec));
      if (t->kind == TensorKind::variable || t->kind == TensorKind::constant)
        require(t->data.dtype() == t->spec.dtype && t->data.shape() == host_shape(*t),
                "tensor `{}` is {}, but its data is {}", t->id, shown(t->spec), shown(t->data.spec()));
    }
  }

  /// Ops use and produce tensors of this graph, depend on earlier ops only, and agree with their rows.
  void ops() {
    PointerMap<const Op*, size_t> made;
    made.reserve(graph_.ops().size());
    Uses used, listed;
    for (const auto& op : graph_.ops()) {
      require(op->graph == &graph_, "op {} belongs to another graph", shown(*op));
      require(op->attrs.size() == op->row->params.size(), "op {} lacks attributes", shown(*op));
      require(op->row->role != Role::composite, "composite {} is in a graph", shown(*op));
      for (const Tensor* t : op->inputs) input(*op, t, made);
      for (const Tensor* t : op->inputs)
        if (t) used.push_back(use(made.size(), owned_.at(t)));
      for (size_t i = 0; i < op->outputs.size(); ++i) {
        const Tensor* t = op->outputs[i];
        require(owned_.count(t) > 0, "op {} makes a tensor of another graph", shown(*op));
        require(t->producer == op.get() && t->output_index == static_cast<int>(i),
                "tensor `{}` does not know that {} makes it", t->id, shown(*op));
      }
      for (const Op* before : op->after)
        require(made.count(before) > 0, "op {} follows an op that is not before it", shown(*op));
      made.emplace(op.get(), made.size());
      for (size_t i = 0; i < op->attrs.size(); ++i)
        if (op->row->params[i].kind == ParamKind::group)
          require(is_grouping(std::get<std::vector<int64_t>>(op->attrs[i]), graph_.ir().replication_factor),
                  "the groups of op {} are not of {} replicas", shown(*op), graph_.ir().replication_factor);
      if (op->row->infer) inference(*op);
      if (op->row->role == Role::host_load || op->row->role == Role::host_store) stream(*op);
      control(*op);
    }
    for (size_t k = 0; k < graph_.tensors().size(); ++k) {
      const Tensor& t = *graph_.tensors()[k];
      for (const Op* user : t.consumers) {
        const auto* found = made.find(user);
        require(found != made.end(), "tensor `{}` is consumed by an op of another graph", t.id);
        listed.push_back(use(found->second, k));
      }
    }
    consumers(std::move(used), std::move(listed));
  }

  /// Each op that uses a tensor is listed by it, once.
  void consumers(Uses used, Uses listed) const {
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    std::ranges::sort(listed);
    if (used == listed) return;
    const auto [left, right] = std::ranges::mismatch(used, listed);
    const bool missing = right == listed.end() || (left != used.end() && *left < *right);
    const uint64_t at = missing ? *left : *right;
    const Op& op = *graph_.ops()[at >> 32];
    const Tensor& t = *graph_.tensors()[at & 0xffffffffu];
    require(!missing, "tensor `{}` does not list its consumer {}", t.id, shown(op));
    require(false, "tensor `{}` lists {} as a consumer, which does not use it or is listed twice", t.id, shown(op));
  }

  void input(const Op& op, const Tensor* t, const PointerMap<const Op*, size_t>& made) const {
    if (!t) return;
    require(owned_.count(t) > 0, "op {} uses a tensor of another graph", shown(op));
    require(!t->producer || made.count(t->producer) > 0, "op {} uses `{}` before it is made", shown(op), t->id);
    require(t->kind != TensorKind::stream, "op {} uses the stream `{}` as a tensor", shown(op), t->id);
  }

  void inference(const Op& op) const {
    const OpContextStorage storage(op);
    OpContext bare = storage.site;
    bare.out = {};
    const std::vector<TensorSpec> inferred = infer_specs(bare);
    require(inferred.size() == op.outputs.size(), "op {} has {} outputs, its row infers {}", shown(op),
            op.outputs.size(), inferred.size());
    for (size_t i = 0; i < inferred.size(); ++i)
      require(inferred[i] == op.outputs[i]->spec, "output {} of {} is {}, its row infers {}", i, shown(op),
              shown(op.outputs[i]->spec), shown(inferred[i]));
  }

  void stream(const Op& op) const {
    require(op.stream != nullptr, "op {} has no stream", shown(op));
    const auto& moved = op.row->role == Role::host_load ? op.outputs : op.inputs;
    require(moved.size() == 1, "op {} moves {} tensors", shown(op), moved.size());
    const TensorSpec &spec = moved[0]->spec, &sample = op.stream->spec();
    require(spec.shape == sample.shape && spec.dtype == sample.dtype, "op {} moves {}, its stream is {}", shown(op),
            shown(moved[0]->spec), shown(op.stream->spec()));
  }

  /// Call sites agree with their callees.
  /// How often a callee lists an op of this graph among its call sites.
  int times_listed(const Graph& callee, const Op& op) {
    const auto [sites, is_new] = sites_.try_emplace(&callee);
    if (is_new)
      for (const Op* site : callee.call_sites())
        if (site->graph == &graph_) ++sites->second[site];
    const auto* found = sites->second.find(&op);
    return found == sites->second.end() ? 0 : found->second;
  }

  void control(const Op& op) {
    const Role role = op.row->role;
    const size_t graphs = role == Role::branch ? 2 : role == Role::call || role == Role::loop ? 1 : 0;
    require(op.called.size() == graphs, "op {} calls {} graphs", shown(op), op.called.size());
    if (graphs == 0) return;
    size_t slot = role == Role::branch ? 1 : 0;
    for (const Graph* callee : op.called) {
      require(&callee->ir() == &graph_.ir() && !callee->is_main(), "op {} calls a graph that cannot be called",
              shown(op));
      require(times_listed(*callee, op) == 1, "graph `{}` does not know its call site {}", callee->id(), shown(op));
      for (const Tensor* wanted : callee->inputs()) {
        require(slot < op.inputs.size() && same(op.inputs[slot], wanted), "input {} of {} does not fit `{}`", slot,
                shown(op), wanted->id);
        ++slot;
      }
      const size_t n = role == Role::call ? callee->outputs().size() : callee->declared_outputs();
      require(op.outputs.size() == n, "op {} has {} outputs, `{}` gives {}", shown(op), op.outputs.size(), callee->id(),
              n);
      for (size_t i = 0; i < n; ++i)
        require(same(op.outputs[i], callee->outputs()[i]), "output {} of {} does not fit `{}`", i, shown(op),
                callee->outputs()[i]->id);
    }
    if (const auto condition = loop_condition(op))
      require(*condition < op.outputs.size() && op.outputs[*condition]->spec == TensorSpec{{}, DType::boolean, {}},
              "the condition of {} is no carried bool", shown(op));
    require(slot == op.inputs.size(), "op {} has {} inputs, its graphs take {}", shown(op), op.inputs.size(), slot);
    require(op.input_modified.empty() || op.input_modified.size() == op.inputs.size(),
            "op {} marks inputs that it does not have", shown(op));
  }

  void interface() const {
    require(!graph_.is_main() || graph_.inputs().empty(), "the main graph has inputs");
    std::unordered_set<const Tensor*> inputs;
    for (const Tensor* t : graph_.inputs()) {
      require(owned_.count(t) > 0 && t->kind == TensorKind::input, "input `{}` is not an input of this graph", t->id);
      require(inputs.insert(t).second, "input `{}` is listed twice", t->id);
    }
    for (const auto& t : graph_.tensors())
      require(t->kind != TensorKind::input || inputs.count(t.get()) > 0, "input `{}` is not listed", t->id);
    require(graph_.declared_outputs() <= graph_.outputs().size(), "more outputs are declared than there are");
    for (const Tensor* t : graph_.outputs())
      require(owned_.count(t) > 0, "output `{}` belongs to another graph", t->id);
  }

  /// The shape on the host: the whole shape for a sharded variable, a row for each group for a grouped one.
  Shape host_shape(const Tensor& t) const {
    Shape shape = t.kind == TensorKind::variable ? whole_spec(t.spec).shape : t.spec.shape;
    if (t.groups.empty()) return shape;
    require(t.kind == TensorKind::variable && is_grouping(t.groups, graph_.ir().replication_factor),
            "the groups of `{}` do not have {} replicas", t.id, graph_.ir().replication_factor);
    shape.insert(shape.begin(), group_count(t.groups));
    return shape;
  }

  /// Whether the id is the name, after the id of a graph that is not the main one.
  bool has_prefixed_name(const Tensor& t) const {
    const std::string_view id = t.id, prefix = graph_.id();
    if (prefix.empty()) return id == t.name;
    return id.size() == prefix.size() + 1 + t.name.size() && id.starts_with(prefix) && id[prefix.size()] == '/' &&
           id.ends_with(t.name);
  }

  static bool same(const Tensor* a, const Tensor* b) { return a && b && a->spec == b->spec; }

  PointerMap<const Graph*, PointerMap<const Op*, int>> sites_;  ///< of callees: their call sites in this graph
  const Graph& graph_;
  PointerMap<const Tensor*, size_t> owned_;  ///< and their numbers in the graph
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

void verify(const Ir& ir) {
  std::unordered_set<std::string_view> graph_ids;
  std::vector<int> op_ids;
  for (const auto& g : ir.graphs()) {
    if (!graph_ids.insert(g->id()).second)
      throw Error(fmt::format("invalid program: two graphs are named `{}`", g->id()), {}, Fault::internal);
    for (const auto& op : g->ops()) op_ids.push_back(op->id);
    verify(*g);
  }
  std::ranges::sort(op_ids);
  if (const auto twice = std::ranges::adjacent_find(op_ids); twice != op_ids.end())
    throw Error(fmt::format("invalid program: two ops are numbered {}", *twice), {}, Fault::internal);
  // Recursion check: repeatedly removes graphs without remaining callers.
  std::unordered_map<const Graph*, size_t> callers;
  for (const auto& g : ir.graphs())
    for (const Graph* callee : g->called_graphs()) ++callers[callee];
  std::vector<const Graph*> open;
  for (const auto& g : ir.graphs())
    if (callers[g.get()] == 0) open.push_back(g.get());
  size_t peeled = 0;
  for (; !open.empty(); ++peeled) {
    const Graph* g = open.back();
    open.pop_back();
    for (const Graph* callee : g->called_graphs())
      if (--callers[callee] == 0) open.push_back(callee);
  }
  if (peeled != ir.graphs().size())
    throw Error("invalid program: a graph calls itself, directly or through others", {}, Fault::internal);
}

void verify_transformed(const Ir& ir) {
  if (verification_enabled()) verify(ir);
}

}  // namespace pxl
