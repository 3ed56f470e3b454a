#include "runtime/transform/outline_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/op/attr_text.hpp"
#include "runtime/transform/outline.hpp"

namespace pxl {

namespace {

constexpr size_t max_period = 1024;     // ops of a repetition that are examined for its period
constexpr size_t max_repetitions = 8;   // examined if no period occurs twice
constexpr size_t max_work = 1 << 20;    // ops compared per candidate
constexpr size_t max_candidates = 256;  // examined closely per round, most promising first
constexpr int64_t comparable = 4096;    // maximum bytes of a constant whose data are compared

bool stays(const Op& op) {
  if (op.stream || op.row->side_effect) return true;
  for (const Tensor* t : op.outputs)
    for (const Op* user : t->consumers)
      if (user->row->role == Role::host_load) return true;  // the memory that a load fills
  return false;
}

std::string spec_text(const Tensor* t) {
  return t ? fmt::format("{}{}", spec_key(t->spec), t->by_ref ? "&" : "") : "-";
}

}  // namespace

std::string op_key(const Op& op, const EqualGraphs& equal) {
  std::string out(op.row->name);
  for (const Attr& a : op.attrs) out += "|" + attr_text(a);
  for (const Graph* g : op.called) {
    const auto one = equal.find(g);
    out += "|" + (one == equal.end() ? g : one->second)->id();
  }
  for (size_t i = 0; i < op.inputs.size(); ++i) out += (op.modifies(i) ? ">" : ";") + spec_text(op.inputs[i]);
  for (const Tensor* t : op.outputs) out += "," + spec_text(t);
  out += op.ipu ? fmt::format("@{}", *op.ipu) : "@";
  return out + (op.io_tiles ? "i" : "c");
}

EqualGraphs find_equal_graphs(const std::vector<const Graph*>& order) {
  EqualGraphs equal;
  std::unordered_map<std::string, const Graph*> known;
  for (const Graph* g : order) {
    if (g->is_main()) continue;
    std::unordered_map<const Tensor*, size_t> number;
    std::unordered_map<const Op*, size_t> position;
    bool is_comparable = true;
    std::string key = fmt::format("{} ", g->declared_outputs());
    for (const Tensor* t : g->inputs()) key += spec_text(t) + ",", number.emplace(t, number.size());
    for (const auto& t : g->tensors()) {
      if (t->kind == TensorKind::variable) is_comparable = false;
      if (t->kind != TensorKind::constant) continue;
      if (t->data.bytes() > comparable || !t->data.has_elements()) {
        is_comparable = false;
        break;
      }
      key += spec_text(t.get()) + "=";
      key.append(reinterpret_cast<const char*>(t->data.raw()), static_cast<size_t>(t->data.bytes()));
      number.emplace(t.get(), number.size());
    }
    for (const auto& op : g->ops()) {
      is_comparable = is_comparable && !op->stream;
      if (!is_comparable) break;
      key += "\n" + op_key(*op, equal);
      for (const Tensor* t : op->inputs) key += t ? fmt::format(" {}", number.at(t)) : " -";
      for (const Op* before : op->after) {
        const auto at = position.find(before);
        is_comparable = is_comparable && at != position.end();
        if (is_comparable) key += fmt::format(" <{}", at->second);
      }
      for (const Tensor* t : op->outputs) number.emplace(t, number.size());
      position.emplace(op.get(), position.size());
    }
    if (!is_comparable) continue;
    key += "\n";
    for (const Tensor* t : g->outputs()) key += fmt::format(" {}", number.at(t));
    const auto [at, fresh] = known.emplace(std::move(key), g);
    if (!fresh) equal.emplace(g, at->second);
  }
  return equal;
}

bool same_constant(const Tensor* a, const Tensor* b) {
  return a == b || (a->data.spec() == b->data.spec() && a->data.bytes() <= comparable && a->data.has_elements() &&
                    b->data.has_elements() &&
                    std::memcmp(a->data.raw(), b->data.raw(), static_cast<size_t>(a->data.bytes())) == 0);
}

OutlineSearch::OutlineSearch(const Ir& ir) {
  std::unordered_map<std::string, int64_t> letters;
  int64_t unique = -1;
  for (const auto& g : ir.graphs()) {
    for (const auto& op : g->ops()) {
      place_.emplace(op.get(), ops_.size());
      ops_.push_back(op.get());
      text_.push_back(stays(*op) ? unique-- : letters.emplace(op_key(*op, {}), letters.size()).first->second);
      code_.push_back((code_.empty() ? 0 : code_.back()) + code_cost(*op));
      double data = 0;
      for (const Tensor* t : op->inputs)
        if (t && t->kind == TensorKind::constant && t->data.bytes() <= comparable) data += data_cost(t->data.bytes());
      data_.push_back((data_.empty() ? 0 : data_.back()) + data);
    }
    // Separates graphs: no sequence spans two.
    ops_.push_back(nullptr);
    text_.push_back(unique--);
    code_.push_back(code_.empty() ? 0 : code_.back());
    data_.push_back(data_.empty() ? 0 : data_.back());
    for (const Tensor* t : g->outputs()) outputs_.insert(t);
    memory_.emplace(g.get(), MemoryGroups(*g));
  }
}

OutlinedBody OutlineSearch::best(double threshold) {
  const Repeats found = find_repeats(text_);
  std::vector<Candidate> once, repetitions;
  for (size_t r = 0; r < found.repeats.size(); ++r) {
    const auto length = static_cast<size_t>(found.repeats[r].length);
    const size_t period = period_of(found.order[found.repeats[r].first], length);
    if (period * 2 <= length) {  // a single period is a candidate too, with more occurrences
      add_candidate(repetitions, found, r, length, period, threshold);
      continue;
    }
    add_candidate(once, found, r, length, length, threshold);
    if (period < length) add_candidate(once, found, r, period, period, threshold);
  }
  OutlinedBody best = best_of(once, found, threshold, max_candidates);
  // Periods of a repetition may differ in their connections while several periods together agree.
  if (best.starts.empty()) best = best_of(repetitions, found, threshold, max_repetitions);
  return best;
}

bool OutlineSearch::inside(const Tensor* t, size_t start, size_t length) const {
  if (!t->producer) return false;
  const size_t at = place_.at(t->producer);
  return at >= start && at < start + length;
}

bool OutlineSearch::leaves(const Tensor* t, size_t start, size_t length) const {
  if (outputs_.count(t) > 0) return true;
  return std::any_of(t->consumers.begin(), t->consumers.end(), [&](const Op* user) {
    const size_t at = place_.at(user);
    return at < start || at >= start + length;
  });
}

std::vector<const Tensor*> OutlineSearch::operands(size_t start, size_t length) const {
  std::vector<const Tensor*> found;
  std::unordered_set<const Tensor*> seen;
  for (size_t k = 0; k < length; ++k)
    for (const Tensor* t : ops_[start + k]->inputs)
      if (t && !inside(t, start, length) && seen.insert(t).second) found.push_back(t);
  return found;
}

std::vector<bool> OutlineSearch::baked(const OutlinedBody& body) const {
  const std::vector<const Tensor*> first = operands(body.starts.front(), body.length);
  std::vector<bool> found;
  for (const Tensor* t : first) found.push_back(t->kind == TensorKind::constant);
  for (size_t start : body.starts) {
    const std::vector<const Tensor*> here = operands(start, body.length);
    for (size_t i = 0; i < first.size(); ++i)
      found[i] = found[i] && here[i]->kind == TensorKind::constant && same_constant(first[i], here[i]);
  }
  return found;
}

void OutlineSearch::add_candidate(std::vector<Candidate>& list, const Repeats& found, size_t repeat, size_t length,
                                  size_t period, double threshold) const {
  if (length < 2) return;
  const size_t start = found.order[found.repeats[repeat].first];
  const double k = static_cast<double>(std::min(found.repeats[repeat].count(), text_.size() / length));
  const double bound = (k - 1) * (code(start, length) + sum(data_, start, length)) - k * call_cost(0);
  if (bound > threshold) list.push_back({repeat, length, period, bound});
}

OutlinedBody OutlineSearch::best_of(std::vector<Candidate>& candidates, const Repeats& found, double threshold,
                                    size_t most) const {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bound > b.bound; });
  OutlinedBody best;
  best.saved = threshold;
  size_t looked = 0;
  for (const Candidate& c : candidates) {
    const Repeat& repeat = found.repeats[c.repeat];
    if (c.bound <= best.saved || ++looked > most) break;
    if (repeat.count() > max_work / c.length) continue;
    std::vector<size_t> starts(found.order.begin() + static_cast<std::ptrdiff_t>(repeat.first),
                               found.order.begin() + static_cast<std::ptrdiff_t>(repeat.last) + 1);
    std::sort(starts.begin(), starts.end());
    OutlinedBody body = closest(starts, c.length);
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

/// Smallest period of a substring, as far as `max_period` shows, or its length (failure function of Knuth, Morris and
/// Pratt).
size_t OutlineSearch::period_of(size_t start, size_t length) {
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

/// Canonical form of a window: connections among its ops and to the outside. Equal texts are interchangeable.
std::string OutlineSearch::form(size_t start, size_t length) const {
  std::string out;
  std::unordered_map<const Tensor*, size_t> outside;
  for (size_t k = 0; k < length; ++k) {
    const Op& op = *ops_[start + k];
    for (const Tensor* t : op.inputs) {
      if (!t) {
        out += '-';
        continue;
      }
      if (inside(t, start, length))
        out += fmt::format("<{}.{}", start + k - place_.at(t->producer), t->output_index);
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

/// Whether a window can become a call. False for ops on several IPUs, and for memory that leaves under another name.
/// Also false for memory that enters under two names and is modified under one.
bool OutlineSearch::callable(size_t start, size_t length) const {
  std::unordered_map<size_t, const Tensor*> given;
  std::unordered_set<size_t> changed, twice;
  const MemoryGroups& memory = memory_.at(ops_[start]->graph);
  for (size_t k = 0; k < length; ++k) {
    const Op& op = *ops_[start + k];
    for (size_t slot = 0; slot < op.inputs.size(); ++slot) {
      const Tensor* t = op.inputs[slot];
      if (!t) continue;
      const size_t group = memory.group(t);
      if (op.modifies(slot)) changed.insert(group);
      if (!inside(t, start, length) && given.emplace(group, t).first->second != t) twice.insert(group);
    }
  }
  if (std::any_of(twice.begin(), twice.end(), [&](size_t group) { return changed.count(group) > 0; })) return false;
  for (size_t k = 0; k < length; ++k) {
    const Op& op = *ops_[start + k];
    if (op.ipu != ops_[start]->ipu || op.io_tiles != ops_[start]->io_tiles) return false;
    if (op.row->alias < 0 || op.outputs.empty()) continue;
    if (leaves(op.outputs[0], start, length)) return false;
  }
  return true;
}

OutlinedBody OutlineSearch::closest(const std::vector<size_t>& starts, size_t length) const {
  std::map<std::string, std::vector<size_t>> forms;
  for (size_t start : starts)
    if (callable(start, length)) forms[form(start, length)].push_back(start);
  OutlinedBody best;
  for (const auto& [text, all] : forms) {
    OutlinedBody body;
    body.length = length;
    for (size_t start : all)
      if (body.starts.empty() || start >= body.starts.back() + length) body.starts.push_back(start);
    if (body.starts.size() < 2) continue;
    body.saved = saving(body);
    if (best.starts.empty() || body.saved > best.saved) best = std::move(body);
  }
  return best;
}

/// Savings of a body: its code and constants in all occurrences but one, minus the cost of the calls.
double OutlineSearch::saving(const OutlinedBody& body) const {
  const size_t start = body.starts.front();
  size_t tensors = 0;
  int64_t copied = 0, constants = 0;
  const auto hand_over = [&](const Tensor* t) {
    ++tensors;
    copied += t->spec.bytes();
  };
  const std::vector<const Tensor*> first = operands(start, body.length),
                                   last = operands(body.starts.back(), body.length);
  const std::vector<bool> own = baked(body);
  for (size_t i = 0; i < first.size(); ++i) {
    if (!own[i])
      hand_over(first[i]);
    else if (first[i] != last[i])
      constants += first[i]->data.bytes();
  }
  for (size_t k = 0; k < body.length; ++k)
    for (size_t j = 0; j < ops_[start + k]->outputs.size(); ++j)
      if (std::any_of(body.starts.begin(), body.starts.end(),
                      [&](size_t s) { return leaves(ops_[s + k]->outputs[j], s, body.length); }))
        hand_over(ops_[start + k]->outputs[j]);
  const double k = static_cast<double>(body.starts.size());
  return (k - 1) * (code(start, body.length) + data_cost(constants)) - k * (call_cost(tensors) + copy_cost(copied));
}

}  // namespace pxl
