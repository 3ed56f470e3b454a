// Common subexpression elimination, only while the earlier result is live, so that peak memory never grows and
// recomputed activations are still recomputed. Memory operands are compared by value number and version.
#include <algorithm>
#include <bit>
#include <map>

#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

/// Bitwise equality: 0.0 and -0.0 differ.
bool same(const Attr& a, const Attr& b) {
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  if (const auto* x = std::get_if<double>(&a))
    return std::holds_alternative<double>(b) && bits(*x) == bits(std::get<double>(b));
  if (const auto* x = std::get_if<std::vector<double>>(&a)) {
    const auto* y = std::get_if<std::vector<double>>(&b);
    return y && std::equal(x->begin(), x->end(), y->begin(), y->end(),
                           [&](double p, double q) { return bits(p) == bits(q); });
  }
  return a == b;
}

class Merger {
 public:
  explicit Merger(PassContext& context) : c_(context) {}

  void run() {
    for (int p = 0; p < static_cast<int>(c_.nodes.size()); ++p) visit(p);
    if (stands_for_.empty()) return;
    // Operands of eliminated nodes may be dead now.
    std::erase_if(c_.nodes, [](const Node& node) { return !node.op; });
    eliminate_dead_code(c_.nodes, c_.outputs, c_.keep);
  }

 private:
  using Values = std::vector<const Tensor*>;
  /// A node that may be repeated: its operands by value number and by tensor.
  struct Earlier {
    int position;
    const Op* op;
    Values values, in;
    std::vector<const Tensor*> out;
  };

  bool never_changed(const Tensor* t) const { return c_.aliases.writes(t).empty(); }

  /// The value number, as the first tensor with that value: equal for results of equal pure ops and equal small
  /// constants.
  const Tensor* value(const Tensor* t) {
    if (!t) return t;
    const auto found = value_.find(t);
    if (found != value_.end()) return found->second;
    if (t->kind != TensorKind::constant || t->spec.bytes() > max_compared_bytes || !t->data.has_elements() ||
        !never_changed(t))
      return t;
    std::string bytes(reinterpret_cast<const char*>(t->data.raw()), static_cast<size_t>(t->spec.bytes()));
    const Tensor* first =
        constants_.emplace(std::tuple(t->spec.dtype, t->spec.shape, std::move(bytes)), t).first->second;
    return value_[t] = first;
  }

  int last_reader(const Tensor* t) const {
    const auto found = last_.find(t);
    if (found != last_.end()) return found->second;
    const std::span<const int> readers = c_.consumers(t);
    return readers.empty() ? -1 : readers.back();
  }

  bool same_work(const Earlier& a, const Node& n, const Values& values) const {
    if (a.op->row != n.op->row || a.values != values || a.out.size() != n.out.size()) return false;
    for (size_t j = 0; j < a.out.size(); ++j)
      if (a.out[j]->spec.shape != n.out[j]->spec.shape || a.out[j]->spec.dtype != n.out[j]->spec.dtype) return false;
    return std::equal(a.op->attrs.begin(), a.op->attrs.end(), n.op->attrs.begin(), n.op->attrs.end(), same);
  }
  /// Whether the memory of the operands is not written between the earlier node and position p.
  bool unchanged(const Earlier& a, int p) const {
    return std::none_of(a.in.begin(), a.in.end(),
                        [&](const Tensor* t) { return t && c_.aliases.written_between(t, a.position, p); });
  }
  bool still_needed(const Earlier& a, const Node& n, int p) const {
    for (size_t j = 0; j < a.out.size(); ++j)
      if (last_reader(a.out[j]) < p && last_reader(n.out[j]) >= 0) return false;
    return true;
  }
  bool dead(const Earlier& a, int p) const {
    return std::all_of(a.out.begin(), a.out.end(), [&](const Tensor* t) { return last_reader(t) < p; });
  }
  /// Equal for nodes for which `same_work` holds.
  static size_t hash_of(const Node& n, const Values& values) {
    size_t hash = std::hash<const void*>()(n.op->row);
    const auto add = [&](size_t part) { hash = hash * 0x9e3779b97f4a7c15 + part + (hash >> 29); };
    for (const Tensor* t : values) add(std::hash<const void*>()(t));
    for (const Tensor* t : n.out) {
      add(static_cast<size_t>(t->spec.dtype));
      for (int64_t extent : t->spec.shape) add(static_cast<size_t>(extent));
    }
    for (const Attr& attr : n.op->attrs) {
      if (const auto* x = std::get_if<double>(&attr)) add(std::bit_cast<uint64_t>(*x));
      if (const auto* x = std::get_if<int64_t>(&attr)) add(static_cast<size_t>(*x));
      if (const auto* x = std::get_if<std::vector<int64_t>>(&attr))
        for (int64_t i : *x) add(static_cast<size_t>(i));
    }
    return hash;
  }

  void visit(int p) {
    Node& n = c_.nodes[static_cast<size_t>(p)];
    for (const Tensor*& t : n.in) {
      const auto found = stands_for_.find(t);
      if (found != stands_for_.end()) t = found->second;
    }
    if (!is_pure(n)) return;
    for (const Tensor* t : n.out)
      if (c_.wanted_outside(t) || !never_changed(t)) return;
    Values values;
    for (const Tensor* t : n.in) values.push_back(value(t));
    std::vector<Earlier>& all = seen_[hash_of(n, values)];
    for (size_t i = 0; i < all.size();) {
      const Earlier& earlier = all[i];
      const bool same = same_work(earlier, n, values), same_result = same && unchanged(earlier, p);
      if (same_result)
        for (size_t j = 0; j < n.out.size(); ++j) {
          const Tensor* first = value(earlier.out[j]);
          value_[n.out[j]] = first;
        }
      // An earlier node goes from the list if its operands were written, or if its results are dead and this node
      // succeeds it. Otherwise each new reader of a tensor would be compared with all its earlier equals.
      if (same && (!same_result || dead(earlier, p))) {
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      ++i;
      if (!same_result || !still_needed(earlier, n, p)) continue;
      for (size_t j = 0; j < n.out.size(); ++j) {
        stands_for_[n.out[j]] = earlier.out[j];
        last_[earlier.out[j]] = std::max(last_reader(earlier.out[j]), last_reader(n.out[j]));
      }
      n.op = nullptr;
      return;
    }
    all.push_back({p, n.op, std::move(values), n.in, n.out});
  }

  PassContext& c_;
  PointerMap<const Tensor*, const Tensor*> value_;
  PointerMap<const Tensor*, const Tensor*> stands_for_;
  std::map<std::tuple<DType, Shape, std::string>, const Tensor*> constants_;
  PointerMap<const Tensor*, int> last_;  ///< of tensors that replace others
  std::unordered_map<size_t, std::vector<Earlier>> seen_;
};

}  // namespace

void eliminate_common_subexpressions(PassContext& context) { Merger(context).run(); }

}  // namespace pxl
