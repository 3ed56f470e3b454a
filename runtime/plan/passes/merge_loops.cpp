// Merges a loop with a later one whose body does the same and more (LoopExtension). A gradient repeats the iterations
// of the forward pass to keep intermediate values; after this pass the iterations run once. The later loop moves to the
// earlier one.
#include <algorithm>
#include <cstring>

#include "runtime/op/structural_rows.hpp"
#include "runtime/plan/passes.hpp"
#include "runtime/transform/loops/scan.hpp"

namespace pxl {

namespace {

class LoopMerger {
 public:
  explicit LoopMerger(PassContext& context) : c_(context), merged_(context.nodes.size()) {}

  void run() {
    for (size_t p = 0; p < c_.nodes.size(); ++p) {
      if (!is_loop(c_.nodes[p])) continue;
      const auto extension = loop_extension(*c_.nodes[p].op->called[0]);
      // The last one: a loop that is repeated on purpose, to save memory, is not merged with the one that it repeats.
      for (size_t q = extension ? p : 0; q-- > 0;)
        if (is_loop(c_.nodes[q]) && c_.nodes[q].op->called[0] == extension->of) {
          merge(q, p, *extension);
          break;
        }
    }
    rename();
    place();
  }

 private:
  static bool is_loop(const Node& n) {
    return n.op && n.op->row->role == Role::loop && !loop_condition(*n.op) && !n.effect && n.alias < 0;
  }

  /// Memory of zeros that only the node at `writer` writes.
  const Node* buffer(const Tensor* t, size_t writer) const {
    const int at = c_.producer(t);
    if (at < 0) return nullptr;
    const Node& n = c_.nodes[static_cast<size_t>(at)];
    const bool plain = n.op && n.op->row == &init_row() && n.in.empty() && n.modified.empty() && !n.effect;
    return plain && c_.aliases.writes(t) == std::vector<int>{static_cast<int>(writer)} ? &n : nullptr;
  }

  bool equal(const Tensor* a, const Tensor* b) const {
    if (a == b) return true;
    const auto fixed = [&](const Tensor* t) {
      return t->kind == TensorKind::constant && t->data.has_elements() && c_.aliases.writes(t).empty();
    };
    if (!fixed(a) || !fixed(b) || a->spec.dtype != b->spec.dtype || a->spec.shape != b->spec.shape) return false;
    const std::byte *x = a->data.raw(), *y = b->data.raw();  // copies of constants share their elements
    return x == y ||
           (a->spec.bytes() <= max_compared_bytes && std::memcmp(x, y, static_cast<size_t>(a->spec.bytes())) == 0);
  }

  /// Whether the tensor has the same value at q as at p.
  bool available(const Tensor* t, size_t q, size_t p) const {
    return c_.producer(t) < static_cast<int>(q) &&
           !c_.aliases.written_between(t, static_cast<int>(q) - 1, static_cast<int>(p));
  }

  void merge(size_t q, size_t p, const LoopExtension& extension) {
    Node &earlier = c_.nodes[q], &later = c_.nodes[p];
    if (merged_[q] || repeat_count(*earlier.op) != repeat_count(*later.op)) return;
    std::vector<std::pair<const Tensor*, const Tensor*>> renamed;  // of the later loop, of the earlier one
    std::vector<bool> is_matched(later.in.size(), false);
    for (size_t i = 0; i < extension.inputs.size(); ++i) {
      const size_t k = extension.inputs[i];
      const Tensor *a = earlier.in[i], *b = later.in[k];
      is_matched[k] = true;
      if (buffer(a, q) && buffer(b, p) && !c_.wanted_outside(b))
        renamed.emplace_back(b, a);
      else if (!equal(a, b) || !available(b, q, p))
        return;
    }
    for (size_t j = 0; j < extension.outputs.size(); ++j) {
      const Tensor* b = later.out[extension.outputs[j]];
      if (c_.wanted_outside(b)) return;
      renamed.emplace_back(b, earlier.out[j]);
    }
    std::vector<size_t> buffers;
    for (size_t k = 0; k < later.in.size(); ++k) {
      if (is_matched[k]) continue;
      if (const Node* n = buffer(later.in[k], p))
        buffers.push_back(static_cast<size_t>(n - c_.nodes.data()));
      else if (!available(later.in[k], q, p))
        return;
    }
    for (const auto& [from, to] : renamed) {
      names_[from] = to;
      if (const int made = c_.producer(from); made != static_cast<int>(p))
        c_.nodes[static_cast<size_t>(made)].op = nullptr;  // a buffer
    }
    merged_[q] = merged_[p] = true;
    moves_[q] = std::move(buffers);
    moves_[q].push_back(p);
  }

  void rename() {
    if (names_.empty()) return;
    for (Node& n : c_.nodes)
      for (auto* list : {&n.in, &n.out})
        for (const Tensor*& t : *list)
          for (auto found = names_.find(t); found != names_.end(); found = names_.find(t)) t = found->second;
  }

  void place() {
    if (moves_.empty()) return;
    std::vector<Node> placed;
    std::vector<bool> done(c_.nodes.size(), false);
    for (const auto& [q, from] : moves_)
      for (const size_t p : from) done[p] = true;
    for (size_t i = 0; i < c_.nodes.size(); ++i) {
      if (const auto found = moves_.find(i); found != moves_.end()) {
        for (const size_t p : found->second) placed.push_back(std::move(c_.nodes[p]));
      } else if (!done[i]) {
        placed.push_back(std::move(c_.nodes[i]));
      }
    }
    c_.nodes = std::move(placed);
  }

  PassContext& c_;
  std::vector<bool> merged_;                                ///< loops that are merged with another one
  std::map<size_t, std::vector<size_t>> moves_;             ///< by the earlier loop: what takes its place
  std::unordered_map<const Tensor*, const Tensor*> names_;  ///< new names of tensors
};

}  // namespace

void merge_loops(PassContext& context) { LoopMerger(context).run(); }

}  // namespace pxl
