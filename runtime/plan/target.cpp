// The base class of targets, and the processor that pxl runs on.
#include "runtime/plan/target.hpp"

#include <algorithm>

#include "runtime/kernels/elementwise/value_and_derivative.hpp"
#include "runtime/kernels/gemm/packed_product.hpp"
#include "runtime/kernels/interruptible.hpp"
#include "runtime/kernels/prepared.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/plan/register_program.hpp"
#include "runtime/transform/flops.hpp"

namespace pxl {

ElementOrder Target::element_order(const Node& node) const {
  switch (node.form) {
    case Form::op: return element_order_of(OpContextStorage(*node.op).site);
    case Form::with_derivative:
    case Form::by_derivative: return ElementOrder::elementwise;
    case Form::fused: {
      ElementOrder all = ElementOrder::elementwise;
      for (const Node& m : node.members)
        if (element_order(m) != ElementOrder::elementwise) all = ElementOrder::whole;
      return all;
    }
    default: return ElementOrder::whole;
  }
}

namespace {

// Cost of one operation, and cost per element of the largest operand or result, by pattern. AMD EPYC with AVX-512 takes
// 0.1 to 0.3 ns for an addition, 0.05 to 0.1 for an element of a sum, 0.01 for a flop (`bench_runtime`: add, sum,
// matmul).
struct Rates {
  double flop_ns, element_ns;
};
Rates rates_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::elementwise: return {0, 0.25};
    case Pattern::reduction: return {0, 0.15};
    case Pattern::movement: return {0, 0.2};
    case Pattern::product: return {0.01, 0};  // 100 GF/s
    case Pattern::other: break;
  }
  return {0.003, 1};
}

constexpr int64_t shared_elements = 64;  // of elementwise work: fewer are not divided among threads

double ns_of_op(const Node& n) {
  int64_t elements = 0;
  for (const auto* list : {&n.in, &n.out})
    for (const Tensor* t : *list)
      if (t) elements = std::max(elements, t->spec.size());
  const Rates rates = rates_of(n.op->row->pattern);
  return std::max(rates.element_ns * static_cast<double>(elements),
                  rates.flop_ns * static_cast<double>(flops_of(*n.op)));
}

/// Whether a node only adds a product to memory, which costs nothing beside the product.
bool adds_product(const Node& n) {
  return product_in_blocks(n) && n.members.size() == 2 && n.members[1].op->row->additive &&
         std::ranges::count(n.members[1].in, nullptr) + 2 == std::ssize(n.members[1].in) && n.out.empty();
}

}  // namespace

bool Target::is_divided(const Node& node) const {
  if (ns(node) < parallel_ns) return false;
  if (node.form == Form::side_by_side || node.form == Form::prologue) return is_divided(node.members[1]);
  if (node.form == Form::one_pass || node.form == Form::product || product_in_blocks(node)) return true;
  // Elementwise work on few elements, or along many loops, is one part.
  const Node& first = node.form == Form::fused ? node.members.front() : node;
  const bool in_order = node.form == Form::fused || element_order(first) != ElementOrder::whole;
  if (in_order) return first.out[0]->spec.size() > shared_elements;
  return node.op->row->pattern != Pattern::elementwise;
}

double Target::ns(const Node& node) const {
  if (!has_members(node.form)) return ns_of_op(node);
  double sum = 0;
  for (const Node& m : node.members) {
    // Members after the products of one pass wait for memory no longer than the products do.
    const Node* product = node.form == Form::one_pass ? product_in_blocks(m) : nullptr;
    if (&m == &node.members.front() || !adds_product(node)) sum += ns(product ? *product : m);
  }
  return sum;
}

namespace {

GemmCall call_of(const Node& product) {
  GemmCall call{product.product->shape, {}};
  call.options.dtype = product.out[0]->spec.dtype;
  return call;
}

// The share of a kernel's time that making a form takes, from which on the form is worth the memory.
constexpr double prepared_share = 0.01;

class CpuTarget : public Target {
 public:
  CpuTarget() {
    max_operands = max_step_slots;
    block = epilogue_block;
    parallel_ns = min_parallel_ns;
  }
  bool multiplies_in_blocks(const TensorSpec& a, const TensorSpec& b, const TensorSpec& out,
                            const GemmShape& shape) const override {
    return shape.c_strides.empty() && product_supports(a, b, out, shape);
  }
  bool computes_operands(const GemmShape& shape) const override { return is_skinny_product(shape); }
  std::optional<PreparedForm> prepares(const Node& node) const override {
    if (node.form == Form::product) {
      if (!gains_by_packing(call_of(node))) return std::nullopt;
      const int64_t numbers = packed_right_size(node.product->shape);
      return PreparedForm{1, numbers * static_cast<int64_t>(sizeof(float)), "rhs packed"};
    }
    if (node.form != Form::op || element_order(node) != ElementOrder::in_parts) return std::nullopt;
    const Kernel kernel = kernel_of(OpContextStorage(*node.op).site);
    const PreparedOperand* p = kernel.prepared();
    if (!p || p->make.cost_ns() < prepared_share * kernel.cost_ns()) return std::nullopt;
    return PreparedForm{p->slot, p->bytes, p->form};
  }
  bool share_a_pass(const Node& dx, const Node& dw) const override {
    GemmCall update = call_of(dw);
    update.options.out = -1;
    return can_fuse_dgrad_wgrad(call_of(dx), update);
  }
  bool saves_derivative(const OpRow& function, const OpRow& gradient) const override {
    const std::optional<Unary> known = function_of_gradient(gradient.name);
    return known && name(*known) == function.name;
  }
};

}  // namespace

const Target& cpu_target() {
  static const Target& target = *new CpuTarget;  // see never_destroyed.hpp
  return target;
}

}  // namespace pxl
