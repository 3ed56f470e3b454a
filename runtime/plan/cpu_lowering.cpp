#include "runtime/plan/cpu_lowering.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/kernels/block/finish.hpp"
#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/kernels/elementwise/value_and_derivative.hpp"
#include "runtime/kernels/gemm/packed_product.hpp"
#include "runtime/kernels/indexing/index.hpp"
#include "runtime/kernels/movement/shape.hpp"
#include "runtime/kernels/outside/remote.hpp"
#include "runtime/kernels/prepared.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/plan/register_program.hpp"

namespace pxl {

namespace {

/// A product with the members after it: the phases before the product's own, and the estimated time of these members.
struct Call {
  GemmCall gemm;
  std::vector<Phase> before;
  double before_ns = 0;
};

Kernel with_phases(std::vector<Phase> phases, const Kernel& last, double ns) {
  phases.insert(phases.end(), last.phases().begin(), last.phases().end());
  return Kernel::parallel(std::move(phases), ns).with_workspace(WorkspaceLayout(last.workspace()));
}

/// A phase of a node whose operands, results and workspace follow those of another node.
Phase after(const Phase& phase, size_t in, size_t out, const WorkspaceSize& kept) {
  return {phase.iterations, phase.grain,
          [part = phase.part, in, out, kept](const Buffers& b, int64_t begin, int64_t end) {
            part(b.with(b.in + in, b.out + out).after(kept), begin, end);
          }};
}

Kernel kernel_of_op(const Op& op) {
  if (op.row->role == Role::remote_load)
    return remote_load_kernel(op.inputs[1]->spec.dtype, op.inputs[0]->spec.bytes());
  if (op.row->role == Role::remote_store)
    return remote_store_kernel(op.inputs[1]->spec.dtype, op.inputs[0]->spec.bytes());
  return kernel_of(OpContextStorage(op).site);
}

PreparedOperand prepared_of(const Kernel& kernel) {
  if (!kernel.prepared()) throw Error("a kernel that prepares no operand", {}, Fault::internal);
  return *kernel.prepared();
}

GemmCall gemm_of(const Node& n) {
  GemmCall call{n.product->shape, {}};
  call.options.dtype = n.out[0]->spec.dtype;
  if (n.product->exchanged) std::swap(call.options.a, call.options.b);
  return call;
}

Kernel product_of(const Node& n) {
  const Product& p = *n.product;
  const GemmCall call = gemm_of(n);
  if (n.prepared >= 0) return packed_product_kernel(call);
  if (p.strided || !p.shape.c_strides.empty()) return product_kernel(call.plan, call.options);
  return matmul_kernel(n.in[0]->spec, p.transposed[0], n.in[1]->spec, p.transposed[1], n.out[0]->spec);
}

/// The register program of fused members, and the kernel that runs it.
class Fused {
 public:
  using Register = RegisterProgram::Register;

  Fused(const Node& node, int64_t block) : node_(node) {
    const Node& head = node.members.front();
    program_->block = block;
    program_->elements = head.out[0]->spec.size();
    if (head.form != Form::product) first_ = head.form == Form::op ? kernel_of_op(*head.op) : cpu_kernel(head, block);
    const Node& finished = take_finish();
    if (head.form == Form::op && head.prepared >= 0) first_ = prepared_of(first_).rest;
    program_->after_product = head.form == Form::product || gives_parts();
    if (gives_parts()) work_ += first_.cost_ns();
    for (const Node& m : node.members) {
      if (&m > &head && &m <= &finished) continue;
      if (m.in.size() > max_step_slots || m.out.size() > max_step_slots)
        throw Error("a fused op with too many operands", {}, Fault::internal);
      const bool product = program_->after_product && &m == &head;
      RegisterProgram::Step step;
      for (const Tensor* t : m.in) step.in.push_back(operand(t, !product));
      if (&m == &head && addend_) {
        while (step.in.back() < 0) step.in.pop_back();  // an absent bias
        step.in.push_back(operand(addend_, false));
      }
      const Node& last = &m == &head ? finished : m;
      for (size_t j = 0; j < m.out.size(); ++j) step.out.push_back(result(last, j));
      if (!product) step.kernel = &m == &head ? first_ : cpu_kernel(m, block);
      const bool in_order = step.kernel.is_fusion_producer() && (&m == &head || takes(m, step.kernel));
      if (!product && !in_order) throw Error("a member whose elements are not in order", {}, Fault::internal);
      work_ += step.kernel.cost_ns();
      program_->steps.push_back(std::move(step));
    }
    program_->finish();
  }

  Kernel over_elements() const {
    const std::shared_ptr<const RegisterProgram> program = program_;
    std::vector<Phase> phases = RegisterProgram::earlier_phases(program);
    const int64_t grain = program->steps[0].kernel.phases().back().grain;
    phases.push_back({program->elements, grain, [program](const Buffers& b, int64_t begin, int64_t end) {
                        program->run(b, begin, end, nullptr);
                      }});
    Kernel kernel = Kernel::parallel(std::move(phases), work_).with_workspace(WorkspaceLayout(program->workspace()));
    if (const std::optional<NarrowSource> source = scaled_weights()) kernel.set_narrow_source(*source);
    return kernel;
  }

  /// Whether the first member gives its result in parts.
  bool gives_parts() const { return first_.result_parts() != nullptr; }

  /// The first member's phases; the others follow each part of its result. If only members read that result, it is
  /// where the last member's result goes, or in the workspace.
  Kernel over_parts() const {
    const std::shared_ptr<const RegisterProgram> program = program_;
    const RegisterProgram::Step& head = program->steps[0];
    const Register& result = program->at(head.out[0]);
    const bool stored = result.kind == Register::Kind::result;
    WorkspaceLayout workspace(program->workspace());
    const auto operands = workspace.per_thread<const std::byte*>(std::ssize(head.in));
    const auto values = workspace.per_call<std::byte>(stored ? 0 : program->elements * result.width);
    std::vector<int> slots;
    for (int reg : head.in) slots.push_back(reg < 0 ? -1 : program->at(reg).index);
    const int out = stored ? result.index : result_in_place();
    std::vector<int64_t> others;  // bytes of operands, which may be in the memory of the result
    for (const Tensor* t : node_.in) others.push_back(stored || !t ? 0 : t->spec.bytes());
    const auto is_free = [others, bytes = program->elements * result.width](const Buffers& b, const std::byte* to) {
      for (size_t i = 0; i < others.size(); ++i)
        if (others[i] > 0 && b.in[i] < to + bytes && to < b.in[i] + others[i]) return false;
      return true;
    };
    const auto with_first = [=, own = workspace.size()](const Buffers& b, auto&& f) {
      const std::byte** in = b.workspace(operands);
      for (size_t i = 0; i < slots.size(); ++i) in[i] = slots[i] < 0 ? nullptr : b.in[slots[i]];
      std::byte* to = out >= 0 && is_free(b, b.out[out]) ? b.out[out] : b.workspace(values);
      f(b.with(in, &to).after(own), to);
    };
    std::vector<Phase> phases = RegisterProgram::earlier_phases(program);
    for (const Phase& p : first_.phases())
      phases.push_back({p.iterations, p.grain, [=, part = p.part](const Buffers& b, int64_t begin, int64_t end) {
                          with_first(b, [&](const Buffers& own, std::byte*) { part(own, begin, end); });
                        }});
    if (program->steps.size() == 1) {
      // The first member's kernel computes all members.
    } else if (first_.result_parts()->of) {
      phases.back().part = [=, parts = *first_.result_parts(), last = first_.phases().back().part](
                               const Buffers& b, int64_t begin, int64_t end) {
        with_first(b, [&](const Buffers& own, std::byte* y) {
          program->run_parts(b, y, [&](const RegisterProgram::RunElements& run) {
            for (int64_t i = begin, next = 0; i < end; i = next) {
              next = std::min(end, (i / parts.together + 1) * parts.together);
              last(own, i, next);
              for (int64_t u = i; u < next; ++u)
                parts.of(u, [&](int64_t first, int64_t planes, int64_t from, int64_t to) {
                  if (from == 0 && to == parts.plane) return run(first * parts.plane, (first + planes) * parts.plane);
                  for (int64_t p = first; p < first + planes; ++p) run(p * parts.plane + from, p * parts.plane + to);
                });
            }
          });
        });
      };
    } else {
      constexpr int64_t grain = 64;
      phases.push_back({program->elements, grain, [=](const Buffers& b, int64_t begin, int64_t end) {
                          with_first(b, [&](const Buffers&, std::byte* y) {
                            program->run_parts(b, y, [&](const RegisterProgram::RunElements& run) { run(begin, end); });
                          });
                        }});
    }
    const WorkspaceSize &own = workspace.size(), &of_first = first_.workspace();
    return Kernel::parallel(std::move(phases), work_)
        .with_workspace(WorkspaceLayout({own.per_call + of_first.per_call, own.per_thread + of_first.per_thread}));
  }

  Call after_product() const {
    const std::shared_ptr<const RegisterProgram> program = program_;
    const auto kind = [&](int reg) { return program->at(reg).kind; };
    const RegisterProgram::Step &head = program->steps[0], &last = program->steps.back();
    Call call{gemm_of(node_.members.front()), {}, 0};
    ProductOptions& options = call.gemm.options;
    options.a = static_cast<size_t>(program->at(head.in[options.a]).index);
    options.b = static_cast<size_t>(program->at(head.in[options.b]).index);
    const bool stored = kind(head.out[0]) == Register::Kind::result;
    options.out = stored ? program->at(head.out[0]).index : -1;
    // out += alpha * (a @ b), the product not used otherwise: the GEMM accumulates in registers.
    if (program->steps.size() == 2 && options.dtype == DType::float32 && !stored &&
        node_.members.front().prepared < 0 && last.kernel.axpy_alpha() &&
        kind(last.out[0]) == Register::Kind::operand && last.in[0] == last.out[0] &&
        kind(last.in[1]) == Register::Kind::block) {
      options.add_to = program->at(last.in[0]).index;
      options.alpha = *last.kernel.axpy_alpha();
      return call;
    }
    call.before = RegisterProgram::earlier_phases(program);
    call.before_ns = work_;
    if (!stored && options.dtype == DType::float32) options.update = RegisterProgram::compiled_epilogue(program);
    options.epilogue_workspace = program->workspace();
    options.epilogue = [program](const Buffers& b, std::byte* values, int64_t begin, int64_t end) {
      program->run(b, begin, end, values);
    };
    return call;
  }

 private:
  /// Lets the first member's kernel compute the members after it that finish its result, for which nothing else reads
  /// it: the sum with a tensor that no member makes, and then bounds or hard_swish. Returns the last one, or the first
  /// member.
  const Node& take_finish() {
    const Node* last = &node_.members.front();
    constexpr float all = std::numeric_limits<float>::infinity();
    SumFinish finish;
    float &low = finish.low, &high = finish.high;
    for (size_t i = 1; first_.finished() && !finish.hard_swish && i < node_.members.size(); ++i) {
      const Node& m = node_.members[i];
      const Tensor* const x = last->out[0];
      const auto reads = [&](const Node& other) { return std::ranges::count(other.in, x); };
      int64_t readers = 0;
      for (const Node& other : node_.members) readers += reads(other);
      if (m.alias >= 0 || reads(m) != 1 || readers != 1 || std::ranges::count(node_.out, x) > 0) break;
      const std::string_view name = m.op->row->name;
      const Tensor* const with = m.in.size() == 2 ? m.in[m.in[0] == x ? 1 : 0] : nullptr;
      const bool is_free = low == -all && high == all;  // of bounds, which would be the last
      const bool is_constant = with && with->kind == TensorKind::constant && with->spec.size() == 1 &&
                               with->data.size() == 1 && m.out[0]->spec.shape == x->spec.shape;
      const float bound = is_constant ? with->data.data<float>()[0] : 0;
      const bool is_lower =
          name == "relu" || (name == "maximum" && is_constant && !(bound == 0 && std::signbit(bound)));
      if (name == "add" && is_free && !finish.adds && with->spec == x->spec && std::ranges::count(node_.in, with) > 0)
        finish.adds = true, addend_ = with;
      else if (name == "hard_swish" && is_free)
        finish.hard_swish = true;
      else if (is_lower && bound <= high)
        low = std::max(low, bound);
      else if (name == "minimum" && is_constant && bound != 0 && bound >= low)
        high = std::min(high, bound);
      else
        break;
      last = &m;
    }
    if (last != &node_.members.front()) first_ = (*first_.finished())(finish);
    return *last;
  }

  /// The index of the last member's result, if the first member's result may be in its memory until then; else -1.
  int result_in_place() const {
    const RegisterProgram::Step &head = program_->steps.front(), &last = program_->steps.back();
    const Node& member = node_.members.back();
    const Register &given = program_->at(head.out[0]), &made = program_->at(last.out[0]);
    if (last.out.size() != 1 || made.kind != Register::Kind::result || made.width != given.width) return -1;
    for (size_t slot = 0; slot < last.in.size(); ++slot)
      if (last.in[slot] == head.out[0] &&
          std::ranges::none_of(member.in_place_candidates, [&](const InPlaceCandidate& c) {
            return c.out == 0 && c.slot == static_cast<int>(slot);
          }))
        return -1;
    return made.index;
  }

  /// Whether members behind the first may be it: elementwise, or moving elements that no member makes.
  static bool takes(const Node& m, const Kernel& kernel) {
    return kernel.is_fusion_consumer() || m.op->row->pattern == Pattern::movement;
  }

  int add(Register reg) {
    program_->registers.push_back(reg);
    return static_cast<int>(program_->registers.size() - 1);
  }

  static int place(const std::vector<const Tensor*>& list, const Tensor* t) {
    return static_cast<int>(std::ranges::find(list, t) - list.begin());
  }

  /// The blocks traverse an operand that is as large as the results, unless a product reads it.
  int operand(const Tensor* tensor, bool by_block) {
    if (!tensor) return -1;
    const auto found = registers_.find(tensor);
    if (found != registers_.end()) return found->second;
    const auto width = static_cast<int64_t>(size_of(tensor->spec.dtype));
    const bool streamed = by_block && tensor->spec.size() == program_->elements;
    return registers_[tensor] = add({Register::Kind::operand, place(node_.in, tensor), width, streamed});
  }

  int result(const Node& m, size_t j) {
    const Tensor* tensor = m.out[j];
    if (j == 0 && m.alias >= 0) return registers_[tensor] = operand(m.in[static_cast<size_t>(m.alias)], true);
    Register reg{.width = static_cast<int64_t>(size_of(tensor->spec.dtype))};
    if (const int index = place(node_.out, tensor); index < std::ssize(node_.out)) {
      reg.kind = Register::Kind::result;
      reg.index = index;
    }
    return registers_[tensor] = add(reg);
  }

  /// The source of the weights, if the program only widens weights and multiplies them by scales.
  std::optional<NarrowSource> scaled_weights() const {
    if (program_->steps.size() != 2) return std::nullopt;
    const RegisterProgram::Step &first = program_->steps[0], &second = program_->steps[1];
    const NarrowSource *widened = first.kernel.narrow_source(), *scaled = second.kernel.narrow_source();
    if (!widened || !scaled || widened->scales >= 0 || scaled->scales < 0 || first.out[0] != second.in[scaled->slot])
      return std::nullopt;
    const Register &weights = program_->at(first.in[widened->slot]),
                   &scales = program_->at(second.in[static_cast<size_t>(scaled->scales)]);
    if (weights.kind != Register::Kind::operand || scales.kind != Register::Kind::operand) return std::nullopt;
    NarrowSource source = *scaled;
    source.format = widened->format;
    source.slot = static_cast<size_t>(weights.index);
    source.scales = scales.index;
    return source;
  }

  const Node& node_;
  Kernel first_;                    ///< of the first member, unless that is a product
  const Tensor* addend_ = nullptr;  ///< what the first member's kernel adds to its result
  std::shared_ptr<RegisterProgram> program_ = std::make_shared<RegisterProgram>();
  std::unordered_map<const Tensor*, int> registers_;
  double work_ = 0;
};

/// The call of a product, with the members after it if it heads a fused node.
Call call_of(const Node& n, int64_t block) {
  return n.form == Form::fused ? Fused(n, block).after_product() : Call{gemm_of(n), {}, 0};
}

Kernel fused(const Node& n, int64_t block) {
  const Node& head = n.members.front();
  if (head.form != Form::product) {
    const Fused members(n, block);
    return members.gives_parts() ? members.over_parts() : members.over_elements();
  }
  Call call = call_of(n, block);
  const Kernel product =
      head.prepared >= 0 ? packed_product_kernel(call.gemm) : product_kernel(call.gemm.plan, call.gemm.options);
  return with_phases(std::move(call.before), product, product.cost_ns() + call.before_ns);
}

Kernel with_prologue(const Node& n, int64_t block) {
  const Node &first = n.members[0], &second = n.members[1];
  const Kernel made = cpu_kernel(first, block);
  Call call = call_of(second, block);
  RightOperand& right = call.gemm.options.right;
  const size_t slot = second.in.size();  // of the first one's operands
  right.per_thread = made.workspace().per_thread;
  right.compute = [part = made.phases()[0].part, slot](const Buffers& b, float* to, int64_t begin, int64_t end,
                                                       std::byte* memory) {
    // The part writes elements [begin, end) of an output that begins that much before the block.
    std::byte* out = reinterpret_cast<std::byte*>(to - begin);
    Buffers operands = b.with(b.in + slot, &out);
    operands.thread_workspace = memory;
    part(operands, begin, end);
  };
  if (const NarrowSource* source = made.narrow_source(); source && source->fits(call.gemm.plan.n)) {
    right.narrow = *source;
    right.narrow->slot += slot;
    if (source->scales >= 0) right.narrow->scales += static_cast<int>(slot);
  }
  const Kernel product = product_kernel(call.gemm.plan, call.gemm.options);
  return with_phases(std::move(call.before), product, product.cost_ns() + call.before_ns + made.cost_ns());
}

/// The products are the last phases of both; the phases before them run first.
Kernel in_one_pass(const Node& n, int64_t block) {
  const size_t in = n.members[0].in.size(), out = n.members[0].out.size();
  Call dx = call_of(n.members[0], block);
  const Call dw = call_of(n.members[1], block);
  const WorkspaceSize kept{dx.gemm.options.epilogue_workspace.per_call, 0};
  for (const Phase& phase : dw.before) dx.before.push_back(after(phase, in, out, kept));
  const Kernel pair = dgrad_wgrad_kernel(dx.gemm, dw.gemm, in, out);
  return with_phases(std::move(dx.before), pair, pair.cost_ns());
}

/// Runs both, partitioned like `large`: each of its chunks includes the proportional chunk of `small`.
Phase both(Phase small, Phase large) {
  const int64_t iterations = large.iterations, grain = large.grain;
  return {iterations, grain,
          [small = std::move(small), large = std::move(large)](const Buffers& b, int64_t begin, int64_t end) {
            const auto edge = [&](int64_t at) {
              return at >= large.iterations ? small.iterations
                                            : small.iterations * at / large.iterations / small.grain * small.grain;
            };
            const int64_t from = edge(begin), to = edge(end);
            if (from < to) small.part(b, from, to);
            large.part(b, begin, end);
          }};
}

Kernel side_by_side(const Node& n, int64_t block) {
  const size_t in = n.members[1].in.size(), out = n.members[1].out.size();
  const Kernel small = cpu_kernel(n.members[0], block);
  Kernel large = cpu_kernel(n.members[1], block);
  if (large.phases().empty()) {
    const WorkspaceLayout workspace(large.workspace());
    const double ns = large.cost_ns();
    large = Kernel::parallel(1, 1, ns, [whole = std::move(large)](const Buffers& b, int64_t, int64_t) {
              whole(b);
            }).with_workspace(workspace);
  }
  std::vector<Phase> phases;
  const WorkspaceSize kept{large.workspace().per_call, 0};
  const WorkspaceLayout workspace(interleaved(large.workspace(), small.workspace()));
  for (const Phase& phase : small.phases()) phases.push_back(after(phase, in, out, kept));
  const Phase last = std::move(phases.back());
  phases.pop_back();
  phases.insert(phases.end(), large.phases().begin(), large.phases().end());
  phases.back() = both(last, phases.back());
  return Kernel::parallel(std::move(phases), large.cost_ns() + small.cost_ns()).with_workspace(workspace);
}

/// The update's kernel for other extents of its first two operands.
Kernel kernel_for(const Op& op, const Shape& shape) {
  OpContextStorage storage(op);
  std::vector<TensorSpec> specs = {op.inputs[0]->spec, op.inputs[1]->spec};
  for (size_t slot : {0, 1}) {
    specs[slot].shape = shape;
    storage.in[slot] = &specs[slot];
  }
  storage.out[0].shape = shape;
  return kernel_of({*op.row, storage.in, op.attrs, storage.out, {}});
}

Kernel sparse(const Node& n) {
  const Node& update = n.members.back();
  std::vector<ScatteredRows> terms;
  size_t slot = update.in.size();
  for (const Node& m : n.members) {
    if (!m.op->row->scatter_add) continue;
    const OpContextStorage storage(*m.op);
    const ScatterAdd s = m.op->row->scatter_add(storage.site);
    terms.push_back({slot, slot + 1, m.in[1]->spec, s.axis, s.batch, s.ignore_out_of_range});
    slot += m.in.size();
  }
  const TensorSpec &t = update.in[0]->spec, &x = update.in[1]->spec;
  const Shape row(x.shape.begin() + static_cast<std::ptrdiff_t>(terms[0].axis) + 1, x.shape.end());
  return sparse_update_kernel(t, x, {.count = n.in.size()}, terms, kernel_for(*update.op, row),
                              kernel_for(*update.op, {sparse_update_probe}));
}

}  // namespace

Kernel cpu_kernel(const Node& n, int64_t block) {
  switch (n.form) {
    case Form::op: return n.prepared < 0 ? kernel_of_op(*n.op) : prepared_of(kernel_of_op(*n.op)).rest;
    case Form::product: return product_of(n);
    case Form::prepared_operand:
      return n.product ? pack_right_kernel(n.product->shape) : prepared_of(kernel_of_op(*n.op)).make;
    case Form::with_derivative:
      return value_and_derivative_kernel(*function_of_gradient(n.gradient->row->name), n.out[0]->spec.size());
    case Form::by_derivative: {
      const Shape& shape = n.out[0]->spec.shape;
      return binary_kernel(Binary::mul, DType::float32, shape, shape, shape);
    }
    case Form::view_write: return write_back_kernel(n.in[0]->spec.dtype, n.part->result, n.part->operand);
    case Form::fused: return fused(n, block);
    case Form::prologue: return with_prologue(n, block);
    case Form::one_pass: return in_one_pass(n, block);
    case Form::side_by_side: return side_by_side(n, block);
    case Form::sparse: return sparse(n);
  }
  throw Error("a node of no form", {}, Fault::internal);
}

}  // namespace pxl
