// Search for outlining candidates. The ops of all graphs form one text, with a letter per kind of op; its repeated
// substrings (repeats.hpp) are the candidates, whose connections are then compared by a canonical form.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/graph/memory_order.hpp"
#include "runtime/transform/loops/repeats.hpp"

namespace pxl {

/// Occurrences of one body: windows of consecutive ops.
struct OutlinedBody {
  size_t length = 0;
  std::vector<size_t> starts;  ///< positions in the text, not overlapping
  double saved = 0;
};

/// Maps a graph that equals an earlier graph to the earlier one.
using EqualGraphs = std::unordered_map<const Graph*, const Graph*>;
/// The properties of an op that do not depend on its connections. A called graph counts as the graph that it equals.
std::string op_key(const Op& op, const EqualGraphs& equal);
/// Graphs with equal inputs, outputs, constants and ops, called in the same way: one of them can replace all.
/// `order`: graphs, callees before callers. The main graph equals none.
EqualGraphs find_equal_graphs(const std::vector<const Graph*>& order);

/// Constants with equal bytes, which one constant of the body can replace.
bool same_constant(const Tensor* a, const Tensor* b);

class OutlineSearch {
 public:
  explicit OutlineSearch(const Ir& ir);

  /// The body with the largest savings, above `threshold`; without starts if there is none.
  OutlinedBody best(double threshold);

  const Op& op(size_t place) const { return *ops_[place]; }
  /// Whether a tensor is produced in a window.
  bool inside(const Tensor* t, size_t start, size_t length) const;
  /// Whether a tensor produced in a window is used outside it.
  bool leaves(const Tensor* t, size_t start, size_t length) const;
  /// Outer operands of a window without duplicates, in order of use; parallel between occurrences of a body.
  std::vector<const Tensor*> operands(size_t start, size_t length) const;
  /// Whether each operand is a constant, equal in all occurrences, that becomes part of the body.
  std::vector<bool> baked(const OutlinedBody& body) const;

 private:
  struct Candidate {
    size_t repeat, length, period;
    double bound;
  };

  void add_candidate(std::vector<Candidate>& list, const Repeats& found, size_t repeat, size_t length, size_t period,
                     double threshold) const;
  OutlinedBody best_of(std::vector<Candidate>& candidates, const Repeats& found, double threshold, size_t most) const;
  size_t period_of(size_t start, size_t length);
  std::string form(size_t start, size_t length) const;
  bool callable(size_t start, size_t length) const;
  OutlinedBody closest(const std::vector<size_t>& starts, size_t length) const;
  double saving(const OutlinedBody& body) const;
  double code(size_t start, size_t length) const { return sum(code_, start, length); }
  static double sum(const std::vector<double>& sums, size_t start, size_t length) {
    return sums[start + length - 1] - (start > 0 ? sums[start - 1] : 0);
  }

  std::vector<const Op*> ops_;  // null between graphs
  std::vector<int64_t> text_;
  std::vector<double> code_, data_;  // prefix sums; for data, an upper bound of what sharing constants can save
  std::unordered_map<const Op*, size_t> place_;
  std::unordered_map<const Graph*, MemoryGroups> memory_;
  std::unordered_set<const Tensor*> outputs_;
  std::vector<size_t> border_;
};

}  // namespace pxl
