#include "runtime/plan/node_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <set>

#include "runtime/base/threads/subnormals.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/op/structural_rows.hpp"
#include "runtime/tensor/float8.hpp"
#include "runtime/transform/flops.hpp"

namespace pxl {

namespace {

// Graphs of more operations are not run: by definitions these take about a second.
constexpr int64_t max_operations = 4'000'000;
constexpr int64_t max_iterations = 1000;

Array widened(const Array& a) {
  return is_float8(a.dtype()) ? from_float8(a, DType::float64, 0) : a.cast(DType::float64);
}

class Run {
 public:
  explicit Run(uint64_t seed) : seed_(seed) {}

  void run(const Node& n) {
    if (has_members(n.form)) {
      for (const Node& m : n.members) run(m);
      return;
    }
    if (n.alias >= 0) root_[n.out[0]] = root(n.in[static_cast<size_t>(n.alias)]);
    switch (n.form) {
      case Form::op: return run_op_of(n);
      case Form::product: return set(n.out[0], product(n));
      case Form::prepared_operand: memory_[n.out[0]] = of(n.in[0]); return;  // its layout is the target's own
      case Form::with_derivative: return with_derivative(n);
      case Form::by_derivative: return by_derivative(n);
      case Form::view_write: return write_view(n);
      default: throw Error("a node of no form", {}, Fault::internal);
    }
  }

  /// A tensor's elements, in its shape.
  Array value(const Tensor* t) { return of(t).reshaped(t->spec.shape); }

  NodeValues results(const std::vector<const Tensor*>& outputs, Keep keep) {
    NodeValues all;
    if (keep == Keep::all) all = stored_;
    const auto stored = std::ssize(all);
    for (const Tensor* t : outputs) all.emplace_back("output " + t->id, value(t));
    for (const Tensor* t : keep == Keep::results ? std::set<const Tensor*>() : changed_)
      if ((t->kind == TensorKind::variable || t->kind == TensorKind::input) && local_.count(t) == 0)
        all.emplace_back(t->id, value(t));
    std::sort(all.begin() + stored, all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return all;
  }

 private:
  const Tensor* root(const Tensor* t) const {
    const auto found = root_.find(t);
    return found == root_.end() ? t : found->second;
  }
  Array& of(const Tensor* t) {
    const Tensor* owner = root(t);
    const auto found = memory_.find(owner);
    if (found != memory_.end()) return found->second;
    const bool known = owner->kind == TensorKind::constant && owner->data.has_elements();
    return memory_[owner] = known ? owner->data : random(owner->spec, owner->id);
  }
  void set(const Tensor* t, const Array& a) { of_root(t) = a; }
  Array& of_root(const Tensor* t) { return memory_[root(t)]; }
  void change(const Tensor* t, Array a) {
    set(t, std::move(a));
    changed_.insert(root(t));
  }

  /// Numbers between -1 and 1; integers 0 and 1, which are indices of most axes.
  Array random(const TensorSpec& spec, const std::string& name) const {
    std::mt19937_64 rng(std::hash<std::string>()(name) ^ seed_);
    Array numbers(DType::float64, spec.shape);
    double* const to = numbers.mutable_data<double>();
    const bool whole = !is_floating(spec.dtype) && !is_float8(spec.dtype);
    for (int64_t i = 0; i < numbers.size(); ++i)
      to[i] = whole ? static_cast<double>(rng() % 2) : static_cast<double>(rng() % 2001) / 1000.0 - 1.0;
    return is_float8(spec.dtype) ? to_float8(numbers, spec.dtype, 0, Float8Overflow::saturate)
                                 : numbers.cast(spec.dtype);
  }

  /// Something that depends on the operands a little, so that another operand shows, and a rounding does not.
  Array opaque(const TensorSpec& spec, const std::string& name, const std::vector<Array>& operands) const {
    Array a = random(spec, name);
    if (!is_floating(spec.dtype)) return a;
    double mean = 0;
    for (size_t k = 0; k < operands.size(); ++k) {
      double sum = 0;
      const Array numbers = widened(operands[k]);
      for (int64_t i = 0; i < numbers.size(); ++i) sum += numbers.number(i) * static_cast<double>(1 + i % 3);
      mean += sum / static_cast<double>((k + 2) * static_cast<size_t>(operands[k].size() + 1));
    }
    Array wide = a.cast(DType::float64);
    for (int64_t i = 0; i < wide.size(); ++i) wide.mutable_data<double>()[i] += mean;
    return wide.cast(spec.dtype);
  }

  void run_op_of(const Node& n) {
    const Op& op = *n.op;
    if (op.row->role == Role::host_load) {
      const std::string name = fmt::format("{} {}", op.stream->name(), loads_[op.stream]++);
      return set(n.out[0], random(n.out[0]->spec, name));
    }
    if (op.row->role == Role::host_store) {
      stored_.emplace_back("stream " + op.stream->name(), value(n.in[0]).clone());
      return;
    }
    if (!op.called.empty()) return run_called(n);
    if (op.row->role != Role::compute || op.row->exchange != Exchange::none) return run_opaque(n);
    const OpContextStorage storage(op);
    std::vector<Array> in;
    for (size_t i = 0; i < n.in.size(); ++i)
      in.push_back(n.in[i] ? of(n.in[i]).reshaped(op.inputs[i]->spec.shape) : Array());  // whatever the target's layout
    apply(storage.site, n, std::move(in));
  }

  void run_opaque(const Node& n) {
    std::vector<Array> operands;
    for (const Tensor* t : n.in)
      if (t) operands.push_back(value(t));
    const std::string name = fmt::format("{} {}", n.op->row->name, static_cast<const void*>(n.op));
    for (const Tensor* t : n.out)
      if (root(t) == t) set(t, opaque(t->spec, name + t->id, operands));
    for (int slot : n.modified) {
      const Tensor* t = n.in[static_cast<size_t>(slot)];
      change(t, opaque(t->spec, fmt::format("{} {}", name, slot), operands));
    }
  }

  /// The graph that an op calls, with its inputs: operands by reference share memory, others are copied.
  void run_graph(const Node& n, size_t which) {
    const Graph& graph = *n.op->called[which];
    const size_t first = callee_operand_begin(*n.op, which);
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Tensor *input = graph.inputs()[i], *given = n.in[first + i];
      root_.erase(input);
      if (is_by_reference(*n.op, which, i))
        root_[input] = root(given);
      else
        local_.insert(input), memory_[input] = value(given);
    }
    for (const Op* op : schedule_order(graph)) {
      Node inner;
      inner.op = op;
      inner.in.assign(op->inputs.begin(), op->inputs.end());
      inner.out.assign(op->outputs.begin(), op->outputs.end());
      for (size_t slot = 0; slot < op->inputs.size(); ++slot)
        if (op->inputs[slot] && op->modifies(slot)) inner.modified.push_back(static_cast<int>(slot));
      if (op->row->role == Role::compute && (op->row->view || op->row->modifies != 0)) inner.alias = op->row->alias;
      for (const Tensor* t : inner.out) root_.erase(t), memory_.erase(t);
      run(inner);
    }
  }

  void run_called(const Node& n) {
    const Op& op = *n.op;
    const bool loop = op.row->role == Role::loop;
    const size_t which = op.row->role == Role::branch && value(n.in[0]).number(0) == 0 ? 1 : 0;
    const Graph& graph = *op.called[which];
    std::vector<Array> results;
    if (!loop) {
      run_graph(n, which);
      for (const Tensor* t : graph.outputs()) results.push_back(value(t));
    } else {
      Node body = n;  // whose operands are the states
      std::deque<Tensor> states;
      for (size_t j = 0; j < n.out.size(); ++j) {
        states.push_back(*n.in[j]);
        states.back().kind = TensorKind::result;
        if (!is_by_reference(op, 0, j)) body.in[j] = &states.back(), set(body.in[j], value(n.in[j]));
      }
      const auto condition = loop_condition(op);
      const auto goes_on = [&] { return !condition || value(body.in[*condition]).number(0) != 0; };
      // A condition on random values may never end a loop.
      int64_t left = condition ? std::min(iteration_limit(op), max_iterations) : repeat_count(op);
      for (; left > 0 && goes_on(); --left) {
        run_graph(body, 0);
        std::vector<Array> next;
        for (size_t j = 0; j < n.out.size(); ++j) next.push_back(value(graph.outputs()[j]));
        for (size_t j = 0; j < n.out.size(); ++j) change(body.in[j], next[j]);
      }
      if (condition && goes_on()) throw Error("a loop whose condition still holds");
      for (size_t j = 0; j < n.out.size(); ++j) results.push_back(value(body.in[j]));
      for (size_t j = 0; j < n.out.size(); ++j) memory_.erase(&states[j]), changed_.erase(&states[j]);
    }
    for (size_t j = 0; j < n.out.size(); ++j) set(n.out[j], results[j]);
  }

  /// Runs the definition of a site on these operands.
  void apply(const OpContext& site, const Node& n, std::vector<Array> in) {
    std::vector<const std::byte*> from(in.size(), nullptr);
    std::vector<std::byte*> to;
    for (size_t i = 0; i < in.size(); ++i) {
      if (!n.in[i]) continue;
      const bool modified = std::ranges::count(n.modified, static_cast<int>(i)) > 0;
      if (modified) in[i] = in[i].clone();
      from[i] = modified ? in[i].mutable_raw() : in[i].raw();
    }
    std::vector<Array> out;
    for (size_t j = 0; j < n.out.size(); ++j) {
      out.emplace_back(n.out[j]->spec.dtype, n.out[j]->spec.shape);
      const bool shared = j == 0 && n.alias >= 0 && std::ranges::count(n.modified, n.alias) > 0;
      to.push_back(shared ? const_cast<std::byte*>(from[static_cast<size_t>(n.alias)]) : out[j].mutable_raw());
    }
    const FlushSubnormals flush;  // as in runs of programs
    definition_kernel(site)({from.data(), to.data()});
    for (size_t j = 0; j < n.out.size(); ++j)
      if (root(n.out[j]) == n.out[j]) set(n.out[j], out[j]);
    for (int slot : n.modified) change(n.in[static_cast<size_t>(slot)], in[static_cast<size_t>(slot)]);
  }

  Array product(const Node& n) {
    const Product& p = *n.product;
    const GemmShape& s = p.shape;
    const Array a = of(n.in[p.exchanged ? 1 : 0]).cast(DType::float64),
                b = of(n.in[p.exchanged ? 0 : 1]).cast(DType::float64);
    Array c(DType::float64, n.out[0]->spec.shape);
    const auto *x = a.data<double>(), *y = b.data<double>();
    double* const z = c.mutable_data<double>();
    Shape dense = strides_of(s.batch);
    for (int64_t& stride : dense) stride *= s.m * s.n;
    for (int64_t batch = 0; batch < element_count(s.batch); ++batch) {
      int64_t at = s.a_offset, bt = s.b_offset, ct = 0, rest = batch;
      for (size_t d = s.batch.size(); d-- > 0; rest /= s.batch[d]) {
        const int64_t i = rest % s.batch[d];
        at += i * s.a_strides[d];
        bt += i * s.b_strides[d];
        ct += i * (s.c_strides.empty() ? dense[d] : s.c_strides[d]);
      }
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < s.k; ++k)
            sum += x[at + (s.ta ? k * s.lda + i : i * s.lda + k)] * y[bt + (s.tb ? j * s.ldb + k : k * s.ldb + j)];
          z[ct + i * (s.c_strides.empty() ? s.n : s.ldc) + j] = sum;
        }
    }
    return c.cast(n.out[0]->spec.dtype);
  }

  void with_derivative(const Node& n) {
    const Array x = value(n.in[0]);
    const auto run_row = [&](const Op& op, std::vector<Array> in, const Tensor* to) {
      Node single;
      single.op = &op;
      single.in.assign(op.inputs.begin(), op.inputs.end());
      single.out = {to};
      apply(OpContextStorage(op).site, single, std::move(in));
    };
    run_row(*n.op, {x}, n.out[0]);
    run_row(*n.gradient, {Array::full(x.dtype(), x.shape(), 1), x}, n.out[1]);
  }

  void by_derivative(const Node& n) {
    const Array gradient = value(n.in[0]), derivative = value(n.in[1]);
    Array to(n.out[0]->spec.dtype, n.out[0]->spec.shape);
    for (int64_t i = 0; i < to.size(); ++i)
      to.mutable_data<float>()[i] = gradient.data<float>()[i] * derivative.data<float>()[i];
    set(n.out[0], to);
  }

  void write_view(const Node& n) {
    Array to = value(n.in[0]).clone();
    const Array from = value(n.in[1]);
    const StridedLayout &target = n.part->operand, &source = n.part->result;
    const size_t width = size_of(to.dtype());
    for (int64_t k = 0; k < element_count(target.shape); ++k) {
      int64_t at = target.offset, of_source = source.offset, rest = k;
      for (size_t d = target.shape.size(); d-- > 0; rest /= target.shape[d]) {
        at += rest % target.shape[d] * target.strides[d];
        of_source += rest % target.shape[d] * source.strides[d];
      }
      std::memcpy(to.mutable_raw() + static_cast<size_t>(at) * width,
                  from.raw() + static_cast<size_t>(of_source) * width, width);
    }
    change(n.in[0], to);
  }

  uint64_t seed_;
  std::unordered_map<const Tensor*, const Tensor*> root_;
  std::unordered_map<const Tensor*, Array> memory_;  ///< by root
  std::set<const Tensor*> changed_;                  ///< roots
  std::set<const Tensor*> local_;                    ///< inputs by value of called graphs
  std::unordered_map<const Stream*, int> loads_;
  NodeValues stored_;
};

/// Largest relative error of results that are rounded at other places.
double allowed_error(DType dtype) {
  if (dtype == DType::float64) return 1e-9;
  if (dtype == DType::float32) return 1e-4;
  return is_floating(dtype) ? 2e-2 : 0.3;
}

}  // namespace

NodeValues run_nodes(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep,
                     uint64_t seed) {
  Run run(seed);
  for (const Node& n : nodes) run.run(n);
  return run.results(outputs, keep);
}

std::string first_difference(const NodeValues& before, const NodeValues& after) {
  if (before.size() != after.size()) return fmt::format("{} values, and {} before", after.size(), before.size());
  for (size_t k = 0; k < before.size(); ++k) {
    const auto& [name, x] = before[k];
    const auto& [other, y] = after[k];
    if (name != other || x.dtype() != y.dtype() || x.shape() != y.shape())
      return fmt::format("`{}` takes the place of `{}`", other, name);
    const Array wide_x = widened(x), wide_y = widened(y);
    double scale = 1e-3;
    for (int64_t i = 0; i < x.size(); ++i)
      if (std::isfinite(wide_x.number(i))) scale = std::max(scale, std::fabs(wide_x.number(i)));
    for (int64_t i = 0; i < x.size(); ++i) {
      const double a = wide_x.number(i), b = wide_y.number(i);
      const bool same =
          a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= allowed_error(x.dtype()) * scale;
      if (!same) return fmt::format("`{}` has {} at element {}, and {} before", name, b, i, a);
    }
  }
  return {};
}

ValuesVerifier::ValuesVerifier(const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep)
    : outputs_(outputs), keep_(keep) {
  int64_t operations = 0;
  for (const Node& n : nodes) {
    operations += flops_of(n);
    for (const Graph* called : n.op->called)
      operations += flops_of(*called) * (n.op->row->role == Role::loop ? repeat_count(*n.op) : 1);
    for (const auto* list : {&n.in, &n.out})
      for (const Tensor* t : *list)
        if (t) operations += t->spec.size();
    if (operations > max_operations) return;
  }
  try {
    before_ = run_nodes(nodes, outputs, keep, 1);
    runs_ = true;
  } catch (const Error&) {
    // Random values that an op refuses: indices out of range, division by 0.
  }
}

void ValuesVerifier::check(const std::vector<Node>& nodes, std::string_view pass) {
  if (!runs_) return;
  NodeValues now = run_nodes(nodes, outputs_, keep_, 1);
  if (const std::string difference = first_difference(before_, now); !difference.empty())
    throw Error(fmt::format("pass {}: {}", pass, difference), {}, Fault::internal);
  before_ = std::move(now);
}

}  // namespace pxl
