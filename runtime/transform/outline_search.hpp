// Finding what to outline. The ops of all graphs are one text, a letter for each kind of op; its repeated substrings
// (repeats.hpp) are the candidates. Only then are the connections compared, by a canonical form of a window of ops.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/graph/memory_order.hpp"
#include "runtime/transform/repeats.hpp"

namespace pxl {

/// Occurrences of one body: windows of ops that follow each other.
struct OutlinedBody {
  size_t length = 0;
  std::vector<size_t> starts;  ///< in the text, not overlapping
  double saved = 0;
};

/// Constants of equal bytes, which one constant of the body can stand for.
bool same_constant(const Tensor* a, const Tensor* b);

class OutlineSearch {
 public:
  explicit OutlineSearch(const Ir& ir);

  /// The body that saves most, more than `threshold`; without starts where there is none.
  OutlinedBody best(double threshold);

  const Op& op(size_t place) const { return *ops_[place]; }
  /// Whether a tensor is made in a window.
  bool inside(const Tensor* t, size_t start, size_t length) const;
  /// Whether anything outside a window uses a tensor made in it.
  bool leaves(const Tensor* t, size_t start, size_t length) const;
  /// Operands from outside a window, each once, in order of use; parallel between occurrences of a body.
  std::vector<const Tensor*> operands(size_t start, size_t length) const;
  /// By operand: whether it is a constant, the same in all occurrences, that becomes the body's own.
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
  std::vector<double> code_, data_;  // sums up to and including an op; of data what constants could save at most
  std::unordered_map<const Op*, size_t> place_;
  std::unordered_map<const Graph*, MemoryGroups> memory_;
  std::unordered_set<const Tensor*> outputs_;
  std::vector<size_t> border_;
};

}  // namespace pxl
