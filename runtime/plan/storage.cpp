// Sharing of memory: by definition (aliases), where it is safe (views), and where it saves room (reuse).
#include "runtime/plan/storage.hpp"

#include <algorithm>

namespace pxl {

namespace {

/// Tensors that share one piece of memory. Positions are those of nodes.
struct Piece {
  const Tensor* external = nullptr;  ///< the graph input, variable or constant whose memory it is
  int input = -1;                    ///< index, where external is a graph input
  int output = -1;                   ///< index of the first graph output in it
  const Tensor* tensor = nullptr;    ///< the first one
  int64_t bytes = 0;
  int first = 0, last = -1;
  std::vector<int> writes;  ///< in-place changes
  int merged_into = -1;
};

class Pieces {
 public:
  Pieces(const std::vector<Node>& nodes, const std::vector<const Tensor*>& inputs,
         const std::vector<const Tensor*>& outputs)
      : end_(static_cast<int>(nodes.size())) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      Piece& piece = pieces_[static_cast<size_t>(add(inputs[i], 0))];
      piece.external = inputs[i];
      piece.input = static_cast<int>(i);
    }
    for (int p = 0; p < end_; ++p) visit(nodes[static_cast<size_t>(p)], p);
    for (size_t j = 0; j < outputs.size(); ++j) {
      Piece& piece = of(outputs[j]);
      piece.last = end_;
      if (piece.output < 0 && outputs[j]->spec.bytes() == piece.bytes) piece.output = static_cast<int>(j);
    }
    for (int p = 0; p < end_; ++p) {
      const Node& node = nodes[static_cast<size_t>(p)];
      for (const ViewOf& view : node.views) share_view(node, view, p);
      for (const Reuse& reuse : node.reuse) take_over(node, reuse, p);
    }
  }

  Storage finish(size_t input_count) {
    Storage storage;
    storage.input_modified.assign(input_count, false);
    std::vector<BufferId> buffer_of_piece(pieces_.size(), -1);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.merged_into >= 0) continue;
      Buffer buffer;
      buffer.tensor = piece.external ? piece.external : piece.tensor;
      buffer.bytes = piece.bytes;
      buffer.first = piece.first;
      buffer.last = std::max(piece.first, piece.last);
      const auto id = static_cast<BufferId>(storage.buffers.size());
      if (piece.input >= 0) {
        buffer.kind = Buffer::Kind::input;
        buffer.index = piece.input;
        storage.input_modified[static_cast<size_t>(piece.input)] = !piece.writes.empty();
      } else if (piece.external && piece.external->kind == TensorKind::variable) {
        buffer.kind = Buffer::Kind::variable;
      } else if (piece.external && piece.writes.empty()) {
        buffer.kind = Buffer::Kind::constant;
      } else if (piece.external) {
        buffer.first = 0;
        storage.changed_constants.emplace_back(piece.external, id);
      } else if (piece.output >= 0) {
        buffer.kind = Buffer::Kind::output;
        buffer.index = piece.output;
      }
      buffer_of_piece[i] = id;
      storage.buffers.push_back(buffer);
    }
    for (const auto& [tensor, piece] : piece_of_)
      storage.buffer_of[tensor] = buffer_of_piece[static_cast<size_t>(find(piece))];
    return storage;
  }

 private:
  int add(const Tensor* tensor, int first) {
    const auto id = static_cast<int>(pieces_.size());
    Piece piece;
    piece.tensor = tensor;
    piece.bytes = tensor->spec.bytes();
    piece.first = first;
    pieces_.push_back(std::move(piece));
    piece_of_[tensor] = id;
    return id;
  }

  int find(int id) const {
    while (pieces_[static_cast<size_t>(id)].merged_into >= 0) id = pieces_[static_cast<size_t>(id)].merged_into;
    return id;
  }
  int id_of(const Tensor* tensor) {
    const auto found = piece_of_.find(tensor);
    if (found != piece_of_.end()) return find(found->second);
    // Not made by a node: a variable or a constant.
    const int id = add(tensor, 0);
    pieces_[static_cast<size_t>(id)].external = tensor;
    return id;
  }
  Piece& of(const Tensor* tensor) { return pieces_[static_cast<size_t>(id_of(tensor))]; }

  void visit(const Node& node, int p) {
    for (const Tensor* t : node.in)
      if (t) of(t).last = p;
    for (int slot : node.modified) {
      std::vector<int>& writes = of(node.in[static_cast<size_t>(slot)]).writes;
      if (writes.empty() || writes.back() != p) writes.push_back(p);
    }
    for (size_t j = 0; j < node.out.size(); ++j) {
      if (j == 0 && node.alias >= 0) {
        const int root = id_of(node.in[static_cast<size_t>(node.alias)]);
        piece_of_[node.out[0]] = root;
        Piece& piece = pieces_[static_cast<size_t>(root)];
        piece.bytes = std::max(piece.bytes, node.out[0]->spec.bytes());
      } else {
        pieces_[static_cast<size_t>(add(node.out[j], p))].last = p;
      }
    }
  }

  void merge(int into, int from) {
    Piece &a = pieces_[static_cast<size_t>(into)], &b = pieces_[static_cast<size_t>(from)];
    b.merged_into = into;
    a.first = std::min(a.first, b.first);
    a.last = std::max(a.last, b.last);
    if (b.output >= 0 && (a.output < 0 || b.output < a.output)) a.output = b.output;
    std::vector<int> writes;
    std::set_union(a.writes.begin(), a.writes.end(), b.writes.begin(), b.writes.end(), std::back_inserter(writes));
    a.writes = std::move(writes);
  }

  /// A view is its source's memory unless a later write to one could be seen through the other.
  void share_view(const Node& node, const ViewOf& view, int p) {
    const Tensor* source =
        view.of_output ? node.out[static_cast<size_t>(view.index)] : node.in[static_cast<size_t>(view.index)];
    const int a = id_of(source), b = id_of(node.out[static_cast<size_t>(view.out)]);
    const Piece &from = pieces_[static_cast<size_t>(a)], &to = pieces_[static_cast<size_t>(b)];
    if (a == b || to.external || from.bytes != to.bytes) return;
    if (from.external && !to.writes.empty()) return;
    // The node changes that memory under another operand, which it got by reference: the view is of what it was.
    if (!view.of_output)
      for (int slot : node.modified)
        if (slot != view.index && id_of(node.in[static_cast<size_t>(slot)]) == a) return;
    for (int k : from.writes)
      if (k > p && to.last >= k) return;
    for (int k : to.writes)
      if (k > p && from.last >= k) return;
    merge(a, b);
  }

  /// An output over an operand that dies here.
  void take_over(const Node& node, const Reuse& reuse, int p) {
    const Tensor* operand = node.in[static_cast<size_t>(reuse.slot)];
    const Tensor* result = node.out[static_cast<size_t>(reuse.out)];
    if (!operand || operand->spec.shape != result->spec.shape || operand->spec.dtype != result->spec.dtype) return;
    const int a = id_of(operand), b = id_of(result);
    const Piece &from = pieces_[static_cast<size_t>(a)], &to = pieces_[static_cast<size_t>(b)];
    if (a == b || from.external || to.external || from.last != p || from.bytes != to.bytes) return;
    for (size_t slot = 0; slot < node.in.size(); ++slot)
      if (static_cast<int>(slot) != reuse.slot && node.in[slot] && id_of(node.in[slot]) == a) return;
    for (size_t j = 0; j < node.out.size(); ++j)
      if (static_cast<int>(j) != reuse.out && id_of(node.out[j]) == a) return;
    merge(a, b);
  }

  int end_;
  std::vector<Piece> pieces_;
  std::unordered_map<const Tensor*, int> piece_of_;
};

}  // namespace

Storage assign_storage(const std::vector<Node>& nodes, const std::vector<const Tensor*>& inputs,
                       const std::vector<const Tensor*>& outputs) {
  return Pieces(nodes, inputs, outputs).finish(inputs.size());
}

}  // namespace pxl
