// Assembles the register program of a fused kernel from its members, and makes a kernel of it.
#include "runtime/plan/fused_kernel.hpp"

#include <algorithm>

#include "runtime/kernels/narrow.hpp"
#include "runtime/plan/register_program.hpp"
#include "runtime/transform/flops.hpp"

namespace pxl {

namespace {

using Register = RegisterProgram::Register;

class Joiner {
 public:
  Joiner(const std::vector<const Node*>& members, const std::unordered_map<const Tensor*, bool>& needed)
      : nodes_(members), needed_(needed) {}

  Node join(int64_t elements) {
    const Node& head = *nodes_.front();
    program_->elements = elements;
    program_->after_product = head.product.has_value();
    double work = 0;
    for (const Node* node : nodes_) {
      if (node->in.size() > max_member_operands || node->out.size() > max_member_operands)
        throw Error("a fused op with too many operands", {}, Fault::internal);
      const bool product = head.product && node == &head;
      RegisterProgram::Step step;
      for (const Tensor* t : node->in) step.in.push_back(operand(t, product ? 0 : elements));
      for (size_t j = 0; j < node->out.size(); ++j) step.out.push_back(result(*node, j));
      for (int slot : node->modified) change(node->in[static_cast<size_t>(slot)]);
      if (!product) step.kernel = node->kernel;
      work += node->kernel.cost_ns();
      joined_.flops += flops_of(*node->op);
      joined_.parts.insert(joined_.parts.end(), node->parts.begin(), node->parts.end());
      program_->steps.push_back(std::move(step));
      joined_.note += (joined_.note.empty() ? " " : "+") + std::string(node->op->row->name) +
                      (node->note.empty() ? "" : "[" + node->note.substr(1) + "]");
    }
    program_->finish();
    joined_.op = nodes_.back()->op;
    const bool half = head.out[0]->spec.dtype == DType::float16;
    joined_.kernel = head.product ? after_product(*head.product, half, work) : over_elements(work);
    return std::move(joined_);
  }

 private:
  int add(Register reg) {
    program_->registers.push_back(reg);
    return static_cast<int>(program_->registers.size() - 1);
  }

  /// `elements` > 0: operands of that size are traversed block by block.
  int operand(const Tensor* tensor, int64_t elements = 0) {
    if (!tensor) return -1;
    const auto found = registers_.find(tensor);
    if (found != registers_.end()) return found->second;
    const int reg =
        add({Register::Kind::operand, static_cast<int>(joined_.in.size()),
             static_cast<int64_t>(size_of(tensor->spec.dtype)), elements > 0 && tensor->spec.size() == elements});
    joined_.in.push_back(tensor);
    return registers_[tensor] = reg;
  }

  int result(const Node& node, size_t j) {
    const Tensor* tensor = node.out[j];
    if (j == 0 && node.alias >= 0) return registers_[tensor] = operand(node.in[static_cast<size_t>(node.alias)]);
    Register reg{.width = static_cast<int64_t>(size_of(tensor->spec.dtype))};
    if (needed_.count(tensor)) {
      reg.kind = Register::Kind::result;
      reg.index = static_cast<int>(joined_.out.size());
      joined_.out.push_back(tensor);
    }
    return registers_[tensor] = add(reg);
  }

  void change(const Tensor* tensor) {
    const Register& reg = program_->at(registers_.at(tensor));
    if (reg.kind != Register::Kind::operand) return;
    if (std::find(joined_.modified.begin(), joined_.modified.end(), reg.index) == joined_.modified.end())
      joined_.modified.push_back(reg.index);
  }

  Kernel over_elements(double work) {
    const std::shared_ptr<const RegisterProgram> program = program_;
    std::vector<Phase> phases = RegisterProgram::earlier_phases(program);
    const int64_t grain = program->steps[0].kernel.phases().back().grain;
    phases.push_back({program->elements, grain, [program](const Buffers& b, int64_t begin, int64_t end) {
                        program->run(b, begin, end, nullptr);
                      }});
    const bool elementwise = phases.size() == 1 && std::all_of(nodes_.begin(), nodes_.end(), [](const Node* node) {
                               return node->kernel.is_fusion_consumer();
                             });
    Kernel kernel = Kernel::parallel(std::move(phases), work).with_workspace(WorkspaceLayout(program->workspace()));
    if (elementwise) kernel.mark_elementwise();
    if (const std::optional<NarrowSource> source = scaled_weights()) kernel.set_narrow_source(*source);
    return kernel;
  }

  /// The weights, if the program only widens some and multiplies them by scales.
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

  Kernel after_product(const GemmShape& plan, bool half, double work) {
    const std::shared_ptr<const RegisterProgram> program = program_;
    const auto kind = [&](int reg) { return program->at(reg).kind; };
    const RegisterProgram::Step &head = program->steps[0], &last = program->steps.back();
    ProductOptions options;
    options.half = half;
    options.a = static_cast<size_t>(program->at(head.in[0]).index);
    options.b = static_cast<size_t>(program->at(head.in[1]).index);
    const bool stored = kind(head.out[0]) == Register::Kind::result;
    options.out = stored ? program->at(head.out[0]).index : -1;
    // out += alpha * (a @ b), the product not used otherwise: the GEMM accumulates in registers.
    if (program->steps.size() == 2 && !half && !stored && last.kernel.axpy_alpha() &&
        kind(last.out[0]) == Register::Kind::operand && last.in[0] == last.out[0] &&
        kind(last.in[1]) == Register::Kind::block) {
      options.add_to = program->at(last.in[0]).index;
      options.alpha = *last.kernel.axpy_alpha();
      joined_.gemm_call = std::make_shared<const GemmCall>(GemmCall{plan, options});
      return product_kernel(plan, options);
    }
    if (!stored && !half) options.update = RegisterProgram::compiled_epilogue(program);
    options.epilogue_workspace = program->workspace();
    options.epilogue = [program](const Buffers& b, std::byte* values, int64_t begin, int64_t end) {
      program->run(b, begin, end, values);
    };
    std::vector<Phase> phases = RegisterProgram::earlier_phases(program);
    joined_.gemm_call = std::make_shared<const GemmCall>(GemmCall{plan, options});
    const Kernel product = product_kernel(plan, std::move(options));
    for (const Phase& p : product.phases()) phases.push_back(p);
    return Kernel::parallel(std::move(phases), work).with_workspace(WorkspaceLayout(product.workspace()));
  }

  const std::vector<const Node*>& nodes_;
  const std::unordered_map<const Tensor*, bool>& needed_;
  std::shared_ptr<RegisterProgram> program_ = std::make_shared<RegisterProgram>();
  std::unordered_map<const Tensor*, int> registers_;
  Node joined_;
};

}  // namespace

Node join(const std::vector<const Node*>& members, int64_t elements,
          const std::unordered_map<const Tensor*, bool>& needed) {
  return Joiner(members, needed).join(elements);
}

}  // namespace pxl
