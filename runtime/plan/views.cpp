#include "runtime/plan/views.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/plan/plan.hpp"

namespace pxl {

const OpRow& write_back_row() {
  static constexpr OpRow row = {.name = "write_back",
                                .schedule = "ViewWrite",
                                .doc = "Writes a changed view back to the memory that it is a view of.",
                                .pattern = Pattern::movement,
                                .modifies = 1,
                                .alias = 0};
  return row;
}

namespace {

/// Tensors that are the same bytes in the same order.
struct Memory {
  const Op* view = nullptr;          ///< the op that defines it as a view; null if it owns its memory
  std::vector<int> operands;         ///< of the view, by slot
  std::vector<const Tensor*> names;  ///< tensors that hold its current elements; empty: stale, must be copied
  int joined = -1;                   ///< union-find over memory with common elements, see Views::set_of
};

class Views {
 public:
  Views(std::vector<Node>& nodes, FlattenedGraph& flat) : flat_(flat), nodes_(nodes) {
    for (const Node& node : nodes_) collect(node);
    written_.assign(memory_.size(), false);
    viewed_.assign(memory_.size(), false);
    for (size_t i = 0; i < memory_.size(); ++i)
      if (memory_[i].view) {
        viewed_[set_of(static_cast<int>(i))] = true;
        views_of_[set_of(static_cast<int>(i))].push_back(static_cast<int>(i));
      }
    for (const Node& node : nodes_)
      for (int slot : node.modified) written_[set_of(of_.at(node.in[static_cast<size_t>(slot)]))] = true;
  }

  void run(std::vector<const Tensor*>& outputs) {
    made_.reserve(nodes_.size());
    for (Node& node : nodes_) {
      site_ = node.site;
      visit(node);
    }
    for (const Tensor*& t : outputs)
      if (is_followed(t)) t = name(t);
    nodes_ = std::move(made_);
  }

 private:
  int add(const Tensor* tensor) {
    const auto id = static_cast<int>(memory_.size());
    memory_.push_back({nullptr, {}, {tensor}, id});
    of_[tensor] = id;
    return id;
  }
  int memory_of(const Tensor* tensor) {
    const auto found = of_.find(tensor);
    return found != of_.end() ? found->second : add(tensor);
  }
  size_t set_of(int id) const {
    while (memory_[static_cast<size_t>(id)].joined != id) id = memory_[static_cast<size_t>(id)].joined;
    return static_cast<size_t>(id);
  }

  void collect(const Node& node) {
    for (const Tensor* t : node.in)
      if (t) memory_of(t);
    for (size_t j = 0; j < node.out.size(); ++j) {
      if (j == 0 && node.alias >= 0) {
        of_[node.out[0]] = memory_of(node.in[static_cast<size_t>(node.alias)]);
        continue;
      }
      const int id = add(node.out[j]);
      if (!node.strided_view) continue;
      Memory& made = memory_[static_cast<size_t>(id)];
      made.view = node.op;
      made.names.clear();
      for (const Tensor* t : node.in) {
        const int operand = of_.at(t);
        made.operands.push_back(operand);
        memory_[set_of(operand)].joined = static_cast<int>(set_of(id));
      }
    }
  }

  /// Whether the memory has several names, and one of them is written.
  bool is_followed(const Tensor* tensor) const {
    const auto found = of_.find(tensor);
    if (found == of_.end()) return false;
    const size_t set = set_of(found->second);
    return viewed_[set] && written_[set];
  }

  void visit(Node& node) {
    const bool view = std::exchange(node.strided_view, false);
    std::vector<int> changed;
    for (int slot : node.modified) {
      const Tensor* t = node.in[static_cast<size_t>(slot)];
      if (is_followed(t) && std::count(changed.begin(), changed.end(), of_.at(t)) == 0) changed.push_back(of_.at(t));
    }
    if (!changed.empty()) check_names(node, changed);
    for (int id : changed) check_repeated(node, id);
    for (const Tensor*& t : node.in)
      if (t && is_followed(t)) t = name(t);
    const Op& op = *node.op;
    for (size_t j = 0; j < node.out.size(); ++j) {
      const Tensor* t = node.out[j];
      if (!is_followed(t) || !(view || (j == 0 && node.alias >= 0))) continue;
      memory_[static_cast<size_t>(of_.at(t))].names.push_back(t);
    }
    made_.push_back(std::move(node));
    if (!changed.empty()) written(changed, op);
  }

  /// A tensor with the current value of `tensor` and its shape.
  const Tensor* name(const Tensor* tensor) {
    const int id = of_.at(tensor);
    copy_afresh(id);
    Memory& memory = memory_[static_cast<size_t>(id)];
    if (std::count(memory.names.begin(), memory.names.end(), tensor) > 0) return tensor;
    for (const Tensor* t : memory.names)
      if (t->spec.shape == tensor->spec.shape) return t;
    // A reshape: the node does nothing at run time.
    static const OpRow& reshape = get_op("reshape_");
    Op op;
    op.row = &reshape;
    op.inputs = {const_cast<Tensor*>(memory.names[0])};
    op.attrs.resize(reshape.params.size());
    op.attrs[param_index(reshape, "shape")] = tensor->spec.shape;
    memory.names.push_back(emit(std::move(op), *tensor));
    return memory.names.back();
  }

  void copy_afresh(int id) {
    if (!memory_[static_cast<size_t>(id)].names.empty()) return;
    const Op& view = *memory_[static_cast<size_t>(id)].view;
    Op op;
    op.row = view.row;
    op.graph = view.graph;
    op.attrs = view.attrs;
    op.origin = view.origin;
    for (size_t slot = 0; slot < view.inputs.size(); ++slot) {
      const int operand = memory_[static_cast<size_t>(id)].operands[slot];
      copy_afresh(operand);
      op.inputs.push_back(const_cast<Tensor*>(shaped(operand, *view.inputs[slot])));
    }
    memory_[static_cast<size_t>(id)].names.push_back(emit(std::move(op), *view.outputs[0]));
  }

  /// A tensor with the current value of a memory, in the shape of `like`.
  const Tensor* shaped(int id, const Tensor& like) {
    flat_.tensors.push_back(like);  // only its shape is used
    of_[&flat_.tensors.back()] = id;
    return name(&flat_.tensors.back());
  }

  /// Appends a node with one result like `like`.
  const Tensor* emit(Op op, const Tensor& like) {
    Tensor t = like;
    t.kind = TensorKind::result;
    t.producer = nullptr;
    t.consumers.clear();
    flat_.tensors.push_back(std::move(t));
    Tensor* result = &flat_.tensors.back();
    op.outputs = {result};
    flat_.ops.push_back(std::move(op));
    made_.push_back(lower(flat_.ops.back(), {}));
    made_.back().strided_view = false;
    made_.back().site = site_;
    return result;
  }

  /// After a write: copies the elements to the memory that it is a view of, and marks other views as stale.
  void written(const std::vector<int>& changed, const Op& by) {
    std::vector<int> current;
    bool twice = false;
    for (int id : changed) {
      twice = twice || std::count(current.begin(), current.end(), id) > 0;
      current.push_back(id);
      write_back(id, by, current, twice);
    }
    if (twice) current.clear();  // the copy written first may lack elements that were written last
    for (int id : changed)
      for (int other : views_of_.at(set_of(id)))
        if (std::count(current.begin(), current.end(), other) == 0) memory_[static_cast<size_t>(other)].names.clear();
  }

  void write_back(int id, const Op& by, std::vector<int>& current, bool& twice) {
    const Op* view = memory_[static_cast<size_t>(id)].view;
    if (!view) return;
    for (const ViewPart& part : view_parts(*view)) {
      if (element_count(part.result.shape) == 0) continue;
      const int operand = memory_[static_cast<size_t>(id)].operands[part.slot];
      twice = twice || std::count(current.begin(), current.end(), operand) > 0;
      current.push_back(operand);
      std::vector<const Tensor*>& to = memory_[static_cast<size_t>(operand)].names;
      Op op;
      op.row = &write_back_row();
      op.graph = by.graph;
      op.origin = by.origin;
      op.inputs = {const_cast<Tensor*>(to[0]), const_cast<Tensor*>(memory_[static_cast<size_t>(id)].names[0])};
      to.push_back(emit(std::move(op), *to[0]));
      made_.back().form = Form::view_write;
      made_.back().part = part;
      write_back(operand, by, current, twice);
    }
  }

  /// The memory that owns an element, and the position in that memory; `places` returns one per element, in order.
  using Place = std::pair<int, int64_t>;
  std::vector<Place> places(int id) const {
    const Memory& memory = memory_[static_cast<size_t>(id)];
    const int64_t size = memory.view ? memory.view->outputs[0]->spec.size() : memory.names[0]->spec.size();
    std::vector<Place> found(static_cast<size_t>(size), Place{id, 0});
    for (int64_t k = 0; k < size; ++k) found[static_cast<size_t>(k)].second = k;
    if (!memory.view) return found;
    for (const ViewPart& part : view_parts(*memory.view)) {
      const std::vector<Place> below = places(memory.operands[part.slot]);
      const Shape& shape = part.operand.shape;
      std::vector<int64_t> at(shape.size(), 0);
      for (int64_t left = element_count(shape); left > 0; --left) {
        int64_t from = part.operand.offset, to = part.result.offset;
        for (size_t d = 0; d < shape.size(); ++d) {
          from += at[d] * part.operand.strides[d];
          to += at[d] * part.result.strides[d];
        }
        found[static_cast<size_t>(to)] = below[static_cast<size_t>(from)];
        for (size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
      }
    }
    return found;
  }

  bool overlap(int a, int b) const {
    std::vector<Place> one = places(a), other = places(b), both;
    std::sort(one.begin(), one.end());
    std::sort(other.begin(), other.end());
    std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
    return !both.empty();
  }

  /// Rejects a node that writes memory and has it as another operand too.
  void check_names(const Node& node, const std::vector<int>& changed) const {
    std::vector<int> held = changed;
    for (size_t which = 0; which < node.callees.size(); ++which) {
      const size_t first = callee_operand_begin(*node.op, which);
      for (size_t i = 0; i < node.callees[which]->input_modified.size(); ++i)
        if (is_by_reference(*node.op, which, i)) {
          const int id = of_.at(node.in[first + i]);
          if (std::count(held.begin(), held.end(), id) == 0) held.push_back(id);
        }
    }
    for (size_t a = 0; a < changed.size(); ++a)
      for (size_t b = a + 1; b < held.size(); ++b) {
        if (set_of(changed[a]) != set_of(held[b]) || !overlap(changed[a], held[b])) continue;
        Error error(fmt::format("`{}` changes memory that it is given twice: as `{}` and as `{}`",
                                node.op->row->schedule, first_name(changed[a]), first_name(held[b])),
                    {"one is a view of the other, or both are views of a third tensor: pass that tensor alone and make "
                     "the views where they are used"});
        error.as(codes::in_place_order);
        error.locate(node.op->origin.span, node.op->origin.frames);
        throw error;
      }
  }

  /// Whether the memory is a view of a join: only then can it contain an element twice.
  bool joins(int id) const {
    const Memory& memory = memory_[static_cast<size_t>(id)];
    return memory.operands.size() > 1 ||
           std::any_of(memory.operands.begin(), memory.operands.end(), [this](int operand) { return joins(operand); });
  }

  /// Rejects a write to a view that contains an element twice, directly or through its sources: writing one copy back
  /// would undo the other.
  void check_repeated(const Node& node, int id) const {
    if (!joins(id)) return;
    for (int operand : memory_[static_cast<size_t>(id)].operands) check_repeated(node, operand);
    std::vector<Place> all = places(id);
    std::sort(all.begin(), all.end());
    if (std::adjacent_find(all.begin(), all.end()) == all.end()) return;
    Error error(fmt::format("`{}` changes `{}`, which has elements of one tensor twice", node.op->row->schedule,
                            first_name(id)),
                {"a join of a tensor with itself shares its memory: join copies, by `concat` in place of `concat_`"});
    error.as(codes::in_place_order);
    error.locate(node.op->origin.span, node.op->origin.frames);
    throw error;
  }

  std::string first_name(int id) const {
    const Memory& memory = memory_[static_cast<size_t>(id)];
    return memory.view ? memory.view->outputs[0]->name : memory.names[0]->name;
  }

  FlattenedGraph& flat_;
  std::vector<Node>& nodes_;
  std::vector<Node> made_;
  const CallSite* site_ = nullptr;  ///< of the node that is visited
  std::vector<Memory> memory_;
  std::unordered_map<const Tensor*, int> of_;
  std::vector<bool> written_, viewed_;                     ///< by set
  std::unordered_map<size_t, std::vector<int>> views_of_;  ///< by set
};

}  // namespace

void resolve_views(std::vector<Node>& nodes, std::vector<const Tensor*>& outputs, FlattenedGraph& flat) {
  if (std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.strided_view; }))
    Views(nodes, flat).run(outputs);
}

}  // namespace pxl
