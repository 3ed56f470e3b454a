// The ops of all graphs are one text, a letter for each kind of op; its repeated substrings (repeats.hpp) are the
// candidates. Only then are the connections compared, by a canonical form of a window of ops. One body is outlined
// at a time, and the search begins anew with the program that results.
#include "runtime/transform/outline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_set>

#include "runtime/graph/memory_order.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/repeats.hpp"

namespace pxl {

namespace {

constexpr size_t max_rounds = 256;      // bodies; each is a pass over the program
constexpr size_t max_period = 1024;     // ops of a repetition that are looked at for its period
constexpr size_t max_repetitions = 8;   // looked at where no round is found that occurs twice
constexpr size_t max_work = 1 << 20;    // ops compared for one candidate
constexpr size_t max_candidates = 256;  // looked at closely in a round, the most promising first

bool stays(const Op& op) {
  if (op.stream || op.row->side_effect) return true;
  for (const Tensor* t : op.outputs)
    for (const Op* user : t->consumers)
      if (user->row->role == Role::host_load) return true;  // the memory that a load fills
  return false;
}

std::string attr_text(const Attr& attr) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "-";
        else if constexpr (std::is_same_v<T, double>)
          return fmt::format("{:a}", v);
        else if constexpr (std::is_same_v<T, std::string>)
          return fmt::format("\"{}\"", v);
        else if constexpr (std::is_same_v<T, DType>)
          return fmt::format("d{}", static_cast<int>(v));
        else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<double>>) {
          std::string text = "[";
          for (const auto x : v) text += attr_text(Attr(x)) + ",";
          return text + "]";
        } else
          return fmt::format("{}:{}", std::is_same_v<T, bool> ? 'b' : 'i', v);
      },
      attr);
}

std::string spec_text(const Tensor* t) {
  return t ? fmt::format("{}{}{}", text(t->spec), bracket_text(t->spec.meta_shape), t->by_ref ? "&" : "") : "-";
}

/// Everything of an op that does not depend on what it is connected to.
std::string letter_text(const Op& op) {
  std::string out(op.row->name);
  for (const Attr& a : op.attrs) out += "|" + attr_text(a);
  for (const Graph* g : op.called) out += "|" + g->id();
  for (size_t i = 0; i < op.inputs.size(); ++i) out += (op.modifies(i) ? ">" : ";") + spec_text(op.inputs[i]);
  for (const Tensor* t : op.outputs) out += "," + spec_text(t);
  out += op.ipu ? fmt::format("@{}", *op.ipu) : "@";
  return out + (op.io_tiles ? "i" : "c");
}

bool same_data(const Tensor* a, const Tensor* b) {
  return a == b || (a->data.spec() == b->data.spec() && a->data.bytes() <= 4096 &&
                    std::memcmp(a->data.raw(), b->data.raw(), static_cast<size_t>(a->data.bytes())) == 0);
}

/// Occurrences of one body.
struct Body {
  size_t length = 0;
  std::vector<size_t> starts;  ///< in the text, not overlapping
  double saved = 0;
};

class Search {
 public:
  explicit Search(const Ir& ir) {
    std::unordered_map<std::string, int64_t> letters;
    int64_t unique = -1;
    for (const auto& g : ir.graphs()) {
      for (const auto& op : g->ops()) {
        place_.emplace(op.get(), ops_.size());
        ops_.push_back(op.get());
        text_.push_back(stays(*op) ? unique-- : letters.emplace(letter_text(*op), letters.size()).first->second);
        code_.push_back((code_.empty() ? 0 : code_.back()) + code_cost(*op));
      }
      // Between graphs: no sequence spans two.
      ops_.push_back(nullptr);
      text_.push_back(unique--);
      code_.push_back(code_.empty() ? 0 : code_.back());
      for (const Tensor* t : g->outputs()) outputs_.insert(t);
    }
  }

  Body best(double threshold) {
    const Repeats found = find_repeats(text_);
    std::vector<Candidate> once, repetitions;
    for (size_t r = 0; r < found.repeats.size(); ++r) {
      const auto length = static_cast<size_t>(found.repeats[r].length);
      const size_t period = period_of(found.order[found.repeats[r].first], length);
      if (period * 2 <= length) {  // one round is a candidate of its own, with more places
        add_candidate(repetitions, found, r, length, period, threshold);
        continue;
      }
      add_candidate(once, found, r, length, length, threshold);
      if (period < length) add_candidate(once, found, r, period, period, threshold);
    }
    Body best = best_of(once, found, threshold, max_candidates);
    // Rounds of a repetition may differ in how they are connected, while several rounds agree.
    if (best.starts.empty()) best = best_of(repetitions, found, threshold, max_repetitions);
    return best;
  }

  const std::vector<const Op*>& ops() const { return ops_; }
  size_t place(const Op* op) const { return place_.at(op); }
  bool is_output(const Tensor* t) const { return outputs_.count(t) > 0; }
  /// Whether anything outside a window uses a tensor made in it.
  bool leaves(const Tensor* t, size_t start, size_t length) const {
    if (is_output(t)) return true;
    return std::any_of(t->consumers.begin(), t->consumers.end(), [&](const Op* user) {
      const size_t at = place(user);
      return at < start || at >= start + length;
    });
  }

 private:
  struct Candidate {
    size_t repeat, length, period;
    double bound;
  };

  void add_candidate(std::vector<Candidate>& list, const Repeats& found, size_t repeat, size_t length, size_t period,
                     double threshold) const {
    if (length < 2) return;
    const size_t start = found.order[found.repeats[repeat].first];
    const double k = static_cast<double>(std::min(found.repeats[repeat].count(), text_.size() / length));
    const double code = code_[start + length - 1] - (start > 0 ? code_[start - 1] : 0);
    const double bound = (k - 1) * code - k * call_cost(0);
    if (bound > threshold) list.push_back({repeat, length, period, bound});
  }

  Body best_of(std::vector<Candidate>& candidates, const Repeats& found, double threshold, size_t most) const {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.bound > b.bound; });
    Body best;
    best.saved = threshold;
    size_t looked = 0;
    for (const Candidate& c : candidates) {
      const Repeat& repeat = found.repeats[c.repeat];
      if (c.bound <= best.saved || ++looked > most) break;
      if (repeat.count() > max_work / c.length) continue;
      std::vector<size_t> starts(found.order.begin() + static_cast<std::ptrdiff_t>(repeat.first),
                                 found.order.begin() + static_cast<std::ptrdiff_t>(repeat.last) + 1);
      std::sort(starts.begin(), starts.end());
      Body body = closest(starts, c.length);
      if (body.starts.empty()) continue;
      const size_t rounds = c.length / c.period * (body.starts.size() - 1) + 1;
      if (c.period < c.length && closest(starts, c.period).starts.size() >= rounds) continue;
      const bool better =
          body.saved > best.saved ||
          (body.saved == best.saved && !best.starts.empty() &&
           (body.length > best.length || (body.length == best.length && body.starts.front() < best.starts.front())));
      if (better) best = std::move(body);
    }
    return best;
  }

  /// The smallest period of a substring, as far as `max_period` shows, or its length (the failure function of Knuth,
  /// Morris and Pratt).
  size_t period_of(size_t start, size_t length) {
    const size_t whole = length;
    length = std::min(length, max_period);
    border_.assign(length, 0);
    for (size_t i = 1, j = 0; i < length; ++i) {
      while (j > 0 && text_[start + i] != text_[start + j]) j = border_[j - 1];
      if (text_[start + i] == text_[start + j]) ++j;
      border_[i] = j;
    }
    const size_t period = length == 0 ? 0 : length - border_[length - 1];
    return period < length ? period : whole;
  }

  /// How the ops of a window are connected among themselves and to what is outside; equal texts are interchangeable.
  std::string form(size_t start, size_t length) const {
    std::string out;
    std::unordered_map<const Tensor*, size_t> outside;
    for (size_t k = 0; k < length; ++k) {
      const Op& op = *ops_[start + k];
      for (const Tensor* t : op.inputs) {
        if (!t) {
          out += '-';
          continue;
        }
        const size_t made = t->producer ? place_.at(t->producer) : text_.size();
        if (t->producer && made >= start && made < start + length)
          out += fmt::format("<{}.{}", start + k - made, t->output_index);
        else
          out += fmt::format("*{}", outside.emplace(t, outside.size()).first->second);
      }
      std::vector<size_t> after;
      for (const Op* before : op.after)
        if (const size_t at = place_.at(before); at >= start) after.push_back(start + k - at);
      std::sort(after.begin(), after.end());
      for (size_t distance : after) out += fmt::format("^{}", distance);
      out += ';';
    }
    return out;
  }

  /// Places that cannot be a call: ops on several IPUs, or memory that goes out under another name.
  bool callable(size_t start, size_t length) const {
    for (size_t k = 0; k < length; ++k) {
      const Op& op = *ops_[start + k];
      if (op.ipu != ops_[start]->ipu || op.io_tiles != ops_[start]->io_tiles) return false;
      if (op.row->alias < 0 || op.outputs.empty()) continue;
      if (leaves(op.outputs[0], start, length)) return false;
    }
    return true;
  }

  Body closest(const std::vector<size_t>& starts, size_t length) const {
    std::map<std::string, std::vector<size_t>> forms;
    for (size_t start : starts)
      if (callable(start, length)) forms[form(start, length)].push_back(start);
    Body best;
    for (const auto& [text, all] : forms) {
      Body body;
      body.length = length;
      for (size_t start : all)
        if (body.starts.empty() || start >= body.starts.back() + length) body.starts.push_back(start);
      if (body.starts.size() < 2) continue;
      const size_t start = body.starts.front();
      const double code = code_[start + length - 1] - (start > 0 ? code_[start - 1] : 0);
      const double k = static_cast<double>(body.starts.size());
      body.saved = (k - 1) * code - k * call_cost(handed_over(body));
      if (best.starts.empty() || body.saved > best.saved) best = std::move(body);
    }
    return best;
  }

  size_t handed_over(const Body& body) const {
    std::unordered_set<const Tensor*> inputs;
    size_t outputs = 0;
    for (size_t k = 0; k < body.length; ++k) {
      const Op& op = *ops_[body.starts[0] + k];
      for (const Tensor* t : op.inputs) {
        const size_t made = t && t->producer ? place_.at(t->producer) : text_.size();
        if (t && t->kind != TensorKind::constant && (made < body.starts[0] || made >= body.starts[0] + body.length))
          inputs.insert(t);
      }
      for (size_t j = 0; j < op.outputs.size(); ++j)
        outputs += std::any_of(body.starts.begin(), body.starts.end(),
                               [&](size_t start) { return leaves(ops_[start + k]->outputs[j], start, body.length); });
    }
    return inputs.size() + outputs;
  }

  std::vector<const Op*> ops_;  // null between graphs
  std::vector<int64_t> text_;
  std::vector<double> code_;  // sums up to and including an op
  std::unordered_map<const Op*, size_t> place_;
  std::unordered_set<const Tensor*> outputs_;
  std::vector<size_t> border_;
};

/// Makes the program in which each occurrence of a body is a call.
class Outliner {
 public:
  Outliner(const Ir& from, const Search& search, const Body& body) : rebuild_(from), search_(search), body_(body) {
    for (size_t start : body.starts) starts_.emplace(search.ops()[start], start);
  }

  Rewritten run() {
    Ir& ir = *rebuild_.result.ir;
    const BuildStateGuard guard(ir);
    for (const Graph* g : rebuild_.order()) {
      Graph& to = rebuild_.begin(*g);
      for (size_t i = 0; i < g->ops().size(); ++i) {
        const Op& op = *g->ops()[i];
        const auto start = starts_.find(&op);
        if (start == starts_.end()) {
          rebuild_.copy(op);
          continue;
        }
        if (!made_) make_body();
        call(start->second, to);
        i += body_.length - 1;
      }
      rebuild_.end(*g);
    }
    return std::move(rebuild_.result);
  }

 private:
  const Op& op_at(size_t start, size_t k) const { return *search_.ops()[start + k]; }

  bool inside(const Tensor* t, size_t start) const {
    if (!t->producer) return false;
    const size_t at = search_.place(t->producer);
    return at >= start && at < start + body_.length;
  }

  /// Operands from outside, each once, in order of use; parallel between occurrences.
  std::vector<const Tensor*> operands(size_t start) const {
    std::vector<const Tensor*> found;
    std::unordered_set<const Tensor*> seen;
    for (size_t k = 0; k < body_.length; ++k)
      for (const Tensor* t : op_at(start, k).inputs)
        if (t && !inside(t, start) && seen.insert(t).second) found.push_back(t);
    return found;
  }

  void make_body() {
    const size_t start = body_.starts.front();
    made_ = &rebuild_.result.ir->create_graph("outlined");
    std::unordered_map<const Tensor*, Tensor*> here;
    const std::vector<const Tensor*> outside = operands(start);
    std::vector<std::vector<const Tensor*>> others;
    for (size_t s : body_.starts) others.push_back(operands(s));
    std::unordered_set<const Tensor*> changed;
    for (size_t k = 0; k < body_.length; ++k) {
      const Op& op = op_at(start, k);
      for (size_t slot = 0; slot < op.inputs.size(); ++slot)
        if (op.inputs[slot] && op.modifies(slot)) changed.insert(op.inputs[slot]);
    }
    add_aliases(changed, start);
    for (size_t i = 0; i < outside.size(); ++i) {
      const Tensor* t = outside[i];
      const bool one_constant =
          t->kind == TensorKind::constant && std::all_of(others.begin(), others.end(), [&](const auto& list) {
            return list[i]->kind == TensorKind::constant && same_data(t, list[i]);
          });
      baked_.push_back(one_constant);
      const std::string name = t->name.substr(t->name.rfind('/') + 1);
      here.emplace(
          t, one_constant ? made_->add_constant(t->data, name) : made_->add_input(t->spec, name, changed.count(t) > 0));
    }
    std::unordered_map<const Op*, Op*> ops;
    for (size_t k = 0; k < body_.length; ++k) {
      const Op& op = op_at(start, k);
      Op* copy = rebuild_.copy(op, *made_, here);
      for (const Op* before : op.after)
        if (const auto found = ops.find(before); found != ops.end()) add_order(*copy, found->second);
      ops.emplace(&op, copy);
      for (size_t j = 0; j < op.outputs.size(); ++j) {
        const bool used = std::any_of(body_.starts.begin(), body_.starts.end(), [&](size_t s) {
          return search_.leaves(op_at(s, k).outputs[j], s, body_.length);
        });
        if (!used) continue;
        made_->add_output(here.at(op.outputs[j]));
        results_.emplace_back(k, j);
      }
    }
  }

  /// A tensor from outside is also changed through results that are its memory.
  void add_aliases(std::unordered_set<const Tensor*>& changed, size_t start) const {
    for (size_t k = body_.length; k-- > 0;) {
      const Op& op = op_at(start, k);
      if (op.row->alias >= 0 && !op.outputs.empty() && changed.count(op.outputs[0]))
        changed.insert(op.inputs[static_cast<size_t>(op.row->alias)]);
    }
  }

  void call(size_t start, Graph& to) {
    std::vector<Tensor*> inputs;
    const std::vector<const Tensor*> outside = operands(start);
    for (size_t i = 0; i < outside.size(); ++i)
      if (!baked_[i]) inputs.push_back(rebuild_.result.tensors.at(outside[i]));
    place_like(*rebuild_.result.ir, op_at(start, 0));
    Op* made = to.add_call(*made_, std::move(inputs));
    for (size_t i = 0; i < results_.size(); ++i) {
      const auto& [k, j] = results_[i];
      Tensor* result = made->outputs[i];
      const Tensor* old = op_at(start, k).outputs[j];
      if (result->name != old->name) to.rename(result, old->name);
      rebuild_.result.tensors[old] = result;
    }
    for (size_t k = 0; k < body_.length; ++k) {
      rebuild_.constrain(*made, op_at(start, k));
      rebuild_.replaced[&op_at(start, k)] = {made};
    }
  }

  Rebuild rebuild_;
  const Search& search_;
  const Body& body_;
  std::unordered_map<const Op*, size_t> starts_;
  Graph* made_ = nullptr;
  std::vector<bool> baked_;                         // by operand from outside
  std::vector<std::pair<size_t, size_t>> results_;  // op of the body and its output
};

}  // namespace

double call_cost(size_t tensors) { return 1 + 0.2 * static_cast<double>(tensors); }

double code_cost(const Op& op) {
  if (!op.called.empty()) return call_cost(op.inputs.size() + op.outputs.size());
  switch (op.row->pattern) {
    case Pattern::product: return 10;
    case Pattern::elementwise:
    case Pattern::movement: return 1;
    default: return 3;
  }
}

Rewritten outline(const Ir& ir, double threshold) {
  Rewritten result;
  {
    Rebuild plain(ir);
    const BuildStateGuard guard(*plain.result.ir);
    for (const Graph* g : plain.order()) {
      plain.begin(*g);
      for (const auto& op : g->ops()) plain.copy(*op);
      plain.end(*g);
    }
    result = std::move(plain.result);
  }
  for (size_t round = 0; round < max_rounds; ++round) {
    Search search(*result.ir);
    const Body body = search.best(threshold);
    if (body.starts.empty()) break;
    Rewritten next = Outliner(*result.ir, search, body).run();
    result = then(result, std::move(next));
  }
  return result;
}

}  // namespace pxl
