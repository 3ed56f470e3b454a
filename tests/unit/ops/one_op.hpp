// A row's sample as a graph of its own, and other samples that follow from it.
#pragma once

#include <algorithm>

#include "runtime/graph/ir.hpp"
#include "samples.hpp"

namespace pxl::test {

struct OneOp {
  Ir ir;
  Graph& graph = ir.create_graph("f");
  std::vector<Array> given;  ///< by input

  OneOp(const OpRow& row, const Sample& sample) {
    GraphOpBuilder at(graph);
    const std::vector<Expr> outputs = at.emit(row, arguments(row, sample, [&](const Array& a) {
                                                given.push_back(a);
                                                return at.of(graph.add_input(a.spec(), "x"));
                                              }));
    for (const Expr& e : outputs) graph.add_output(e.tensor());
  }
  bool computes() const {
    return std::ranges::all_of(graph.ops(), [](const auto& op) {
      return op->called.empty() && !op->row->side_effect && op->row->modifies == 0 &&
             op->row->exchange == Exchange::none;
    });
  }
  bool is_narrow() const {
    return std::ranges::any_of(
        graph.tensors(), [](const auto& t) { return is_floating(t->spec.dtype) && t->spec.dtype != DType::float64; });
  }
};

inline bool is_of_interest(const OpRow& row) {
  return (row.role == Role::compute || row.role == Role::composite) && row.modifies == 0;
}

inline Values values_of(const Graph& graph, const std::vector<Array>& given) {
  Values v;
  for (size_t i = 0; i < given.size(); ++i) v[graph.inputs()[i]] = given[i];
  return run_graph(graph, std::move(v));
}

/// The operand with one first axis more, or without its first one.
inline Array of_other_rank(const Array& a, bool more) {
  Shape shape = a.shape();
  if (more)
    shape.insert(shape.begin(), 2);
  else
    shape.erase(shape.begin());
  Array other(a.dtype(), shape);
  for (int64_t k = 0, n = other.bytes(); k < n; ++k) other.mutable_raw()[k] = a.raw()[k % a.bytes()];
  if (!more || !is_floating(a.dtype())) return other;
  other = other.cast(DType::float64);
  for (int64_t k = a.size(); k < other.size(); ++k) other.mutable_data<double>()[k] *= 0.93;  // nothing ties
  return other.cast(a.dtype());
}

/// Values of an attribute that a row may take: the words of the help are names of reductions and the like.
inline std::vector<Attr> values_of(const Param& p) {
  std::vector<Attr> all;
  if (p.kind == ParamKind::boolean)
    for (const bool value : {false, true}) all.emplace_back(value);
  if (p.kind == ParamKind::integer || p.kind == ParamKind::axes || p.kind == ParamKind::integers)
    for (const int64_t value : {-1, 0, 1, 2}) all.emplace_back(value);
  std::string word;
  for (const char c : std::string(p.kind == ParamKind::string ? p.doc : "") + " ") {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (!word.empty()) {
      all.emplace_back(word);
      word.clear();
    }
  }
  return all;
}

/// The sample, and those of operands with other ranks, each also with another value of an attribute, if the op takes
/// it. Rows that users do not reach trust their operands, and have the sample alone.
inline std::vector<Sample> variants_of(const OpRow& row, DType dtype) {
  std::vector<Sample> all{sample_for(row, dtype)};
  if (row.path.empty()) return all;
  const auto consider = [&](const Sample& other) {
    try {
      const OneOp one(row, other);
      if (one.computes()) values_of(one.graph, one.given);
      all.push_back(other);
    } catch (const Error&) {  // such as an axis that operands lack
    }
  };
  std::vector<Sample> ranks{all[0]};
  for (size_t which = 1; which < size_t{1} << std::min<size_t>(all[0].operands.size(), 6); ++which)
    for (const bool more : {true, false}) {
      Sample other = ranks[0];
      bool fits = true;
      for (size_t i = 0; i < other.operands.size() && fits; ++i) {
        if ((which >> i & 1U) == 0) continue;
        std::optional<Array>& a = other.operands[i];
        fits = a && (more || !a->shape().empty());
        if (fits) a = of_other_rank(*a, more);
      }
      if (fits) ranks.push_back(other);
    }
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (r > 0) consider(ranks[r]);
    for (const Param& p : row.params)
      if (!is_operand(p.kind))
        for (const Attr& value : values_of(p)) {
          Sample other = ranks[r];
          other.attrs[std::string(p.name)] = value;
          consider(other);
        }
  }
  return all;
}

}  // namespace pxl::test
