#include "runtime/plan/verify_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "runtime/op/reads_in_place.hpp"
#include "runtime/plan/plan.hpp"

namespace pxl {

namespace {

class NodesVerifier {
 public:
  NodesVerifier(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, bool views)
      : nodes_(nodes), outputs_(outputs), views_(views), aliases_(nodes) {}

  void run() {
    // A tensor that no node defines is an input, a variable or a constant: only results need a definition.
    for (position_ = 0; position_ < nodes_.size(); ++position_) {
      const Node& n = nodes_[position_];
      require(n.op && n.op->row, "no op");
      operands(n);
      slots(n);
      overlaps(n);
      aliases(n);
      specs(n);
      callees(n);
      for (const Tensor* t : n.out) require(t && defined_.insert(t).second, "a result is null or defined twice");
    }
    for (const Tensor* t : outputs_)
      if (t->kind == TensorKind::result && defined_.count(t) == 0)
        throw Error(fmt::format("invalid plan: output `{}` is not defined", t->id), {}, Fault::internal);
  }

 private:
  void require(bool holds, std::string_view what) const {
    if (holds) return;
    const Op* op = nodes_[position_].op;
    throw Error(fmt::format("invalid plan: node {} ({}): {}", position_, op && op->row ? op->row->name : "?", what), {},
                Fault::internal);
  }
  static bool same_spec(const Tensor* a, const Tensor* b) {
    return a->spec.shape == b->spec.shape && a->spec.dtype == b->spec.dtype;
  }
  static bool same_bytes(const Tensor* a, const Tensor* b) {
    return a->spec.dtype == b->spec.dtype && a->spec.size() == b->spec.size();
  }
  static bool same_dtype(const Tensor* a, const Tensor* b) { return a->spec.dtype == b->spec.dtype; }
  static bool is_list(const std::vector<const Tensor*>& list, size_t count) {
    return list.size() == count && std::ranges::count(list, nullptr) == 0;
  }
  /// Whether a layout has elements of the tensor only.
  static bool is_inside(const StridedLayout& at, const Tensor* tensor) {
    int64_t least = at.offset, most = at.offset;
    for (size_t d = 0; d < at.shape.size(); ++d) {
      if (at.shape[d] == 0) return true;
      const int64_t reach = (at.shape[d] - 1) * at.strides[d];
      (reach < 0 ? least : most) += reach;
    }
    return least >= 0 && most < tensor->spec.size();
  }
  static bool is_slot(int slot, const std::vector<const Tensor*>& of) {
    return slot >= 0 && slot < static_cast<int>(of.size()) && of[static_cast<size_t>(slot)];
  }

  void operands(const Node& n) const {
    for (const Tensor* t : n.in)
      require(!t || t->kind != TensorKind::result || defined_.count(t) > 0, "an operand is used before its definition");
  }

  void slots(const Node& n) const {
    for (size_t i = 0; i < n.modified.size(); ++i) {
      require(is_slot(n.modified[i], n.in), "a modified slot is out of range or empty");
      require(std::count(n.modified.begin(), n.modified.end(), n.modified[i]) == 1, "a slot is modified twice");
    }
    require(n.alias < 0 || (is_slot(n.alias, n.in) && !n.out.empty()), "the alias is out of range or empty");
    require(n.overwritten_by < 0 || (n.modified == std::vector<int>{n.alias} && is_slot(n.overwritten_by, n.in) &&
                                     n.overwritten_by != n.alias),
            "an overwrite of other memory than its alias");
    require(views_ || !n.strided_view, "a strided view");
  }

  /// An op reads operands from memory that it modifies only where its row allows it.
  void overlaps(const Node& n) const {
    if (n.form != Form::op || n.op->row->role != Role::compute) return;
    for (const int slot : n.modified) {
      if (reads_in_place(*n.op->row, static_cast<size_t>(slot))) continue;
      const Tensor* changed = aliases_.root(n.in[static_cast<size_t>(slot)]);
      for (size_t other = 0; other < n.in.size(); ++other)
        require(static_cast<int>(other) == slot || !n.in[other] || aliases_.root(n.in[other]) != changed,
                "an operand is in the memory that the node modifies");
    }
  }

  /// The computation of a node fits the node's operands and results.
  void specs(const Node& n) const {
    require(n.op && n.op->row, "no op");
    const bool product = n.form == Form::product || (n.form == Form::prepared_operand && n.product);
    require(n.product.has_value() == product && (n.gradient != nullptr) == (n.form == Form::with_derivative) &&
                n.part.has_value() == (n.form == Form::view_write) && n.members.empty() != has_members(n.form),
            "its form has other parts");
    switch (n.form) {
      case Form::op: return op_specs(n);
      case Form::product: return product_specs(n);
      case Form::prepared_operand:
        return require(is_list(n.in, 1) && is_list(n.out, 1) && n.once && n.prepared >= 0 &&
                           n.prepared < std::ssize(n.op->inputs) &&
                           (n.product || same_spec(n.in[0], n.op->inputs[static_cast<size_t>(n.prepared)])),
                       "a prepared operand is not one of one tensor");
      case Form::with_derivative:
        return require(is_list(n.in, 1) && is_list(n.out, 2) && same_spec(n.in[0], n.out[0]) &&
                           same_spec(n.in[0], n.out[1]) && n.gradient->inputs.size() == 2,
                       "a function with its derivative is not of one tensor");
      case Form::by_derivative:
        return require(
            is_list(n.in, 2) && is_list(n.out, 1) && same_spec(n.in[0], n.out[0]) && same_spec(n.in[1], n.out[0]),
            "a gradient and a derivative differ");
      case Form::view_write:
        return require(is_list(n.in, 2) && n.modified == std::vector<int>{0} && same_dtype(n.in[0], n.in[1]) &&
                           n.part->operand.shape == n.part->result.shape && is_inside(n.part->operand, n.in[0]) &&
                           is_inside(n.part->result, n.in[1]),
                       "a view is written beyond its memory");
      default: return member_specs(n);
    }
  }

  void op_specs(const Node& n) const {
    require(n.in.size() == n.op->inputs.size() && n.out.size() == n.op->outputs.size(),
            "it has another number of operands or results than its op");
    for (size_t i = 0; i < n.in.size(); ++i)
      require(n.in[i] ? n.op->inputs[i] && (same_spec(n.in[i], n.op->inputs[i]) || static_cast<int>(i) == n.prepared)
                      : !n.op->inputs[i] || n.op->row->role == Role::host_load,
              "an operand has another shape or dtype than its op's");
    for (size_t j = 0; j < n.out.size(); ++j)
      require(same_spec(n.out[j], n.op->outputs[j]), "a result has another shape or dtype than its op's");
  }

  void product_specs(const Node& n) const {
    require(is_list(n.in, 2) && is_list(n.out, 1), "a product is not of two operands");
    const Product& p = *n.product;
    const GemmShape& s = p.shape;
    const auto layout = [&](int64_t rows, int64_t columns, int64_t ld, const Shape& strides, int64_t offset) {
      StridedLayout at;
      at.shape = s.batch;
      at.strides = strides;
      at.offset = offset;
      for (const auto& [extent, stride] : {std::pair(rows, ld), std::pair(columns, int64_t{1})}) {
        at.shape.push_back(extent);
        at.strides.push_back(stride);
      }
      return at;
    };
    const Tensor *a = n.in[p.exchanged ? 1 : 0], *b = n.in[p.exchanged ? 0 : 1];
    require(s.a_strides.size() == s.batch.size() && s.b_strides.size() == s.batch.size() &&
                is_inside(layout(s.ta ? s.k : s.m, s.ta ? s.m : s.k, s.lda, s.a_strides, s.a_offset), a) &&
                (n.prepared == 1 ||
                 is_inside(layout(s.tb ? s.n : s.k, s.tb ? s.k : s.n, s.ldb, s.b_strides, s.b_offset), b)),
            "a product reads beyond its operands");
    require(n.out[0]->spec.size() == element_count(s.batch) * s.m * s.n, "a product has another size than its result");
  }

  void member_specs(const Node& n) const {
    require(n.members.size() >= 2 && (n.form == Form::fused || n.form == Form::sparse || n.members.size() == 2),
            "it has another number of members than its form");
    for (const Node& m : n.members) specs(m);
    if (n.form == Form::fused)
      for (const Node& m : n.members)
        for (const Tensor* t : m.out)
          require(t->spec.size() == n.members[0].out[0]->spec.size(), "a member has another size than the first");
    const Node again = compose(n.form, n.members, [&](const Tensor* t) { return std::ranges::count(n.out, t) > 0; });
    require(n.op == again.op && n.in == again.in && n.out == again.out && n.modified == again.modified,
            "its operands, results or changes are not those of its members");
  }

  void aliases(const Node& n) const {
    require(n.alias < 0 || same_bytes(n.out[0], n.in[static_cast<size_t>(n.alias)]),
            "the alias has another dtype or size than its memory");
    for (const OutputAlias& a : n.output_aliases) {
      require(is_slot(a.out, n.out) && (a.out > 0 || n.alias < 0),
              "an output alias is out of range or an alias already");
      require(a.of_output ? a.index < a.out && is_slot(a.index, n.out) : is_slot(a.index, n.in),
              "an output alias of no operand and no earlier output");
      const Tensor* source = (a.of_output ? n.out : n.in)[static_cast<size_t>(a.index)];
      require(same_bytes(n.out[static_cast<size_t>(a.out)], source), "an output alias has another dtype or size");
    }
    for (const InPlaceCandidate& c : n.in_place_candidates) {
      require(is_slot(c.out, n.out) && is_slot(c.slot, n.in), "an in-place candidate is out of range or empty");
      require(c.out > 0 || n.alias < 0, "an in-place candidate is an alias already");
      const Tensor *out = n.out[static_cast<size_t>(c.out)], *in = n.in[static_cast<size_t>(c.slot)];
      // A called graph may return its argument with another shape.
      require(n.callees.empty() ? same_spec(out, in) : same_bytes(out, in),
              "an in-place candidate has another shape or dtype than its operand");
    }
  }

  void callees(const Node& n) const {
    if (n.callees.empty()) return;
    require(n.callees.size() == n.op->called.size() && n.form == Form::op,
            "it has another number of callees than its op");
    for (size_t which = 0; which < n.callees.size(); ++which) {
      require(n.callees[which] != nullptr, "a callee has no plan");
      const std::vector<bool>& changed = n.callees[which]->input_modified;
      const size_t begin = callee_operand_begin(*n.op, which);
      require(begin + changed.size() <= n.in.size(), "a callee has more inputs than the node has operands");
      for (size_t i = 0; i < changed.size(); ++i)
        if (changed[i] && is_by_reference(*n.op, which, i))
          require(std::count(n.modified.begin(), n.modified.end(), static_cast<int>(begin + i)) == 1,
                  "a callee changes an input by reference that is not marked as modified");
    }
  }

  const std::vector<Node>& nodes_;
  const std::vector<const Tensor*>& outputs_;
  bool views_;
  const Aliases aliases_;
  size_t position_ = 0;
  std::unordered_set<const Tensor*> defined_;
};

}  // namespace

void verify_nodes(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, bool views) {
  NodesVerifier(nodes, outputs, views).run();
}

PassVerifier::PassVerifier(std::vector<Node>& nodes) {
  const Aliases aliases(nodes);
  std::unordered_map<const Tensor*, int> writer;  // by root
  for (size_t p = 0; p < nodes.size(); ++p) {
    Node& n = nodes[p];
    n.parts = {static_cast<int>(p)};
    Before b{{}, {}, n.effect};
    for (const Tensor* t : n.in) {
      if (!t || aliases.writes(t).empty()) continue;
      const auto found = writer.find(aliases.root(t));
      b.reads.emplace_back(aliases.root(t), found == writer.end() ? -1 : found->second);
    }
    for (int slot : n.modified) b.modified.push_back(aliases.root(n.in[static_cast<size_t>(slot)]));
    for (const Tensor* root : b.modified) writer[root] = static_cast<int>(p);
    before_.push_back(std::move(b));
  }
}

void PassVerifier::check(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep,
                         std::string_view pass) const {
  const auto fail = [&](std::string_view what) {
    throw Error(fmt::format("pass {}: {}", pass, what), {}, Fault::internal);
  };
  try {
    verify_nodes(nodes, outputs);
  } catch (const Error& e) {
    fail(e.what());
  }
  // The nodes before the pass, in the order in which they run after it.
  std::vector<int> order;
  std::vector<bool> kept(before_.size(), false);
  for (const Node& n : nodes)
    for (int part : n.parts) {
      if (part < 0 || part >= static_cast<int>(before_.size()) || kept[static_cast<size_t>(part)])
        fail("a node runs twice");
      kept[static_cast<size_t>(part)] = true;
      order.push_back(part);
    }
  int last_effect = -1;
  std::unordered_map<const Tensor*, int> writer;
  for (int part : order) {
    const Before& b = before_[static_cast<size_t>(part)];
    if (b.effect) {
      if (part < last_effect) fail("side effects change their order");
      last_effect = part;
    }
    for (const auto& [root, version] : b.reads) {
      const auto found = writer.find(root);
      const int now = found == writer.end() ? -1 : found->second;
      // Dead writes may be gone.
      if (now != version && (version < 0 || kept[static_cast<size_t>(version)]))
        fail(fmt::format("node {} reads `{}` as written by node {}, before the pass by node {}", part, root->id, now,
                         version));
    }
    for (const Tensor* root : b.modified) writer[root] = part;
  }
  if (keep == Keep::all)
    for (size_t p = 0; p < before_.size(); ++p)
      if (before_[p].effect && !kept[p]) fail("a node with side effects is removed");
}

}  // namespace pxl
