// A member's operand is an operand or a result of the fused node, or a block of workspace that holds elements [begin,
// end) of a result that only members use. Kernels index whole tensors, so the pointer to a block is shifted back by
// `begin` elements.
#include "runtime/plan/fused_kernel.hpp"

#include <algorithm>
#include <array>

#include "runtime/kernels/fused_update.hpp"
#include "runtime/kernels/product.hpp"
#include "runtime/transform/flops.hpp"

namespace pxl {

namespace {

// Elements of a block: 4 KiB of float32, so that the operands of a few members fit into an L1 cache of 32 KiB. Not
// measured.
constexpr int64_t block_elements = epilogue_block;

struct MemberOperand {
  enum class Kind : uint8_t { none, input, output, block } kind = Kind::none;
  int index = -1;
  int64_t width = 0;  ///< bytes per element, of blocks
};

struct Member {
  Kernel kernel;
  WorkspaceSize preceding;  ///< of the group's workspace, what comes before the member's
  std::vector<MemberOperand> in, out;
};

using Pointers = std::array<std::byte*, max_member_operands>;

/// Integer arithmetic: the address before the beginning of a block is not dereferenced.
std::byte* back(std::byte* block, int64_t bytes) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(block) - static_cast<uintptr_t>(bytes));
}

/// An operand that the blocks traverse from beginning to end.
struct PrefetchedOperand {
  int input = -1;
  int64_t width = 0;  ///< bytes per element
};

/// Members read each operand one block at a time, a pattern that the hardware prefetcher misses; the next block is
/// prefetched in software.
inline void fetch(const std::byte* begin, const std::byte* end) {
  for (const std::byte* p = begin; p < end; p += 64) __builtin_prefetch(p);
}

/// Members that a row of the table of fused updates runs as one loop, beginning with member `first`.
struct Chain {
  size_t first = 0;
  FusedUpdateMatch match;
  std::array<MemberOperand, max_registers> registers;
};

class Group {
 public:
  std::vector<Member> members;
  std::vector<Chain> chains;  ///< in order
  std::vector<PrefetchedOperand> streams;
  int64_t elements = 0;
  int blocks = 0;        ///< number of workspace blocks
  int64_t widest = 1;    ///< bytes per element, maximum over blocks
  MemberOperand result;  ///< the result of a GEMM

  /// Places the blocks and the members' workspaces. Members of a thread run one after the other, so their arrays per
  /// thread overlay each other; what a member keeps from one of its phases to the next does not.
  void place_workspace() {
    WorkspaceLayout own;
    memory_ = own.per_thread<std::byte>(blocks * block_elements * widest);
    WorkspaceSize nested;
    for (Member& m : members) {
      m.preceding = {nested.per_call, own.size().per_thread};
      nested = interleaved(nested, m.kernel.workspace());
    }
    workspace_ = {nested.per_call, own.size().per_thread + nested.per_thread};
  }
  const WorkspaceSize& workspace() const { return workspace_; }

  /// Reads the constants of a fused update outside a run; false if its members must run one by one.
  bool constants(const Buffers& b, const Chain& chain, float* to) const {
    const auto pointer = [&](const MemberOperand& r) -> std::byte* {
      return r.kind == MemberOperand::Kind::input ? const_cast<std::byte*>(b.in[r.index]) : nullptr;
    };
    return constants_of(b, chain, pointer, to);
  }

  /// At most block_elements elements.
  void run(const Buffers& b, int64_t begin, int64_t end, std::byte* values, size_t first) const {
    const auto stride = static_cast<size_t>((end - begin) * widest + 63) & ~size_t{63};
    const bool given =
        values && result.kind == MemberOperand::Kind::block;  // the GEMM's result is a block that only members use
    std::byte* const memory = b.workspace(memory_);
    const auto pointer = [&](const MemberOperand& r) -> std::byte* {
      switch (r.kind) {
        case MemberOperand::Kind::none: return nullptr;
        case MemberOperand::Kind::input:
          return const_cast<std::byte*>(b.in[r.index]);  // written by in-place members only
        case MemberOperand::Kind::output: return b.out[r.index];
        case MemberOperand::Kind::block: break;
      }
      if (given && r.index == result.index) return back(values, begin * r.width);
      return back(memory + static_cast<size_t>(r.index) * stride, begin * r.width);
    };
    // What follows a part of a row belongs to another thread, and nothing follows the last block.
    const int64_t ahead = end - begin < block_elements ? 0 : std::min(end - begin, elements - end);
    const auto steps = static_cast<int64_t>(members.size() - first);
    Pointers in, out;
    const auto run_chain = [&](const Chain& chain) {
      FusedUpdateConstants constants{};
      if (!constants_of(b, chain, pointer, constants.data())) return false;
      std::array<float*, max_registers> registers{};
      for (size_t r = 0; r < registers.size(); ++r) {
        std::byte* place = pointer(chain.registers[r]);
        if (place) registers[r] = reinterpret_cast<float*>(place) + begin;
      }
      chain.match.run(registers.data(), constants.data(), end - begin);
      return true;
    };
    const auto fetch_next = [&](int64_t step, int64_t count) {
      if (ahead <= 0) return;
      const int64_t from = count == steps ? 0 : ahead * step / steps;
      const int64_t to = count == steps ? ahead : ahead * (step + count) / steps;
      for (const PrefetchedOperand& s : streams) {
        const std::byte* next = b.in[s.input] + end * s.width;
        fetch(next + from * s.width, next + to * s.width);
      }
    };
    auto chain = chains.begin();
    for (size_t i = first; i < members.size(); ++i) {
      const auto step = static_cast<int64_t>(i - first);
      if (chain != chains.end() && chain->first == i) {
        const Chain& here = *chain++;
        if (run_chain(here)) {
          fetch_next(step, static_cast<int64_t>(here.match.steps));
          i += here.match.steps - 1;
          continue;
        }
      }
      fetch_next(step, 1);
      point(members[i], in, out, pointer);
      const Member& m = members[i];
      m.kernel.phases().back().part(b.with(in.data(), out.data()).after(m.preceding), begin, end);
    }
  }

  /// The phases of the members, except the last of each, as phases of the fused kernel.
  void prepare(const std::shared_ptr<const Group>& self, std::vector<Phase>& phases) const {
    for (size_t i = 0; i < members.size(); ++i) {
      const auto& all = members[i].kernel.phases();
      for (size_t p = 0; p + 1 < all.size(); ++p) {
        phases.push_back({all[p].iterations, all[p].grain, [self, i, p](const Buffers& b, int64_t begin, int64_t end) {
                            const Member& m = self->members[i];
                            Pointers in{}, out{};
                            for (size_t k = 0; k < m.in.size(); ++k) {
                              if (m.in[k].kind == MemberOperand::Kind::input)
                                in[k] = const_cast<std::byte*>(b.in[m.in[k].index]);
                            }
                            m.kernel.phases()[p].part(b.with(in.data(), out.data()).after(m.preceding), begin, end);
                          }});
      }
    }
  }

 private:
  static void point(const Member& m, Pointers& in, Pointers& out, const auto& pointer) {
    for (size_t k = 0; k < m.in.size(); ++k) in[k] = pointer(m.in[k]);
    for (size_t k = 0; k < m.out.size(); ++k) out[k] = pointer(m.out[k]);
  }
  bool constants_of(const Buffers& b, const Chain& chain, const auto& pointer, float* to) const {
    Pointers in, out;
    for (size_t i = 0; i < chain.match.steps; ++i, to += max_constants) {
      const Member& m = members[chain.first + i];
      point(m, in, out, pointer);
      if (!m.kernel.update_op()->constants(b.with(in.data(), out.data()).after(m.preceding), to)) return false;
    }
    return true;
  }

  PerThread<std::byte> memory_;
  WorkspaceSize workspace_;
};

class Joiner {
 public:
  Joiner(const std::vector<const Node*>& members, const std::unordered_map<const Tensor*, bool>& needed)
      : nodes_(members), needed_(needed) {}

  Node join(int64_t elements) {
    const Node& head = *nodes_.front();
    const bool product = head.product.has_value();
    double work = 0;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = *nodes_[i];
      if (node.in.size() > max_member_operands || node.out.size() > max_member_operands)
        throw Error("a fused op with too many operands", {}, Fault::internal);
      Member m;
      for (const Tensor* t : node.in) m.in.push_back(operand(t, product && i == 0 ? 0 : elements));
      for (size_t j = 0; j < node.out.size(); ++j) m.out.push_back(result(node, j));
      for (int slot : node.modified) change(node.in[static_cast<size_t>(slot)]);
      if (i > 0 || !product) m.kernel = node.kernel;
      work += node.kernel.cost_ns();
      joined_.flops += flops_of(*node.op);
      joined_.parts.insert(joined_.parts.end(), node.parts.begin(), node.parts.end());
      group_->members.push_back(std::move(m));
      name_ +=
          (i ? "+" : "") + std::string(node.op->row->name) + (node.note.empty() ? "" : "[" + node.note.substr(1) + "]");
    }
    group_->elements = elements;
    group_->place_workspace();
    find_chains(product ? 1 : 0);
    joined_.op = nodes_.back()->op;
    joined_.note = " " + name_;
    const bool half = head.out[0]->spec.dtype == DType::float16;
    joined_.kernel = product ? build_epilogue(*head.product, half, work) : elementwise(elements, work);
    return std::move(joined_);
  }

 private:
  /// `elements` > 0: operands of that size are traversed block by block, and prefetched.
  MemberOperand operand(const Tensor* tensor, int64_t elements = 0) {
    if (!tensor) return {};
    const auto found = refs_.find(tensor);
    if (found != refs_.end()) return found->second;
    const MemberOperand ref{MemberOperand::Kind::input, static_cast<int>(joined_.in.size()), 0};
    joined_.in.push_back(tensor);
    if (elements > 0 && tensor->spec.size() == elements)
      group_->streams.push_back({ref.index, static_cast<int64_t>(size_of(tensor->spec.dtype))});
    return refs_[tensor] = ref;
  }

  MemberOperand result(const Node& node, size_t j) {
    const Tensor* tensor = node.out[j];
    if (j == 0 && node.alias >= 0) return refs_[tensor] = operand(node.in[static_cast<size_t>(node.alias)]);
    MemberOperand ref;
    if (needed_.count(tensor)) {
      ref = {MemberOperand::Kind::output, static_cast<int>(joined_.out.size()), 0};
      joined_.out.push_back(tensor);
    } else {
      const auto width = static_cast<int64_t>(size_of(tensor->spec.dtype));
      ref = {MemberOperand::Kind::block, group_->blocks++, width};
      group_->widest = std::max(group_->widest, width);
    }
    return refs_[tensor] = ref;
  }

  void find_chains(size_t first) {
    const std::vector<Member>& members = group_->members;
    std::vector<MemberOperand> places;
    const auto place = [&](const MemberOperand& ref) {
      const auto same = [&](const MemberOperand& r) { return r.kind == ref.kind && r.index == ref.index; };
      const auto at = std::find_if(places.begin(), places.end(), same) - places.begin();
      if (at == static_cast<std::ptrdiff_t>(places.size())) places.push_back(ref);
      return static_cast<int>(at);
    };
    std::vector<UpdateOperands> sites(members.size());
    for (size_t i = first; i < members.size(); ++i) {
      UpdateOperands& site = sites[i];
      site.step = members[i].kernel.update_op();
      if (!site.step) continue;
      for (int slot : site.step->operands) site.operands.push_back(place(members[i].in[static_cast<size_t>(slot)]));
      site.result = place(members[i].out[0]);
      site.passing = members[i].out[0].kind == MemberOperand::Kind::block;
      for (size_t j = i + 2; j < members.size(); ++j)
        for (const MemberOperand& r : members[j].in)
          if (r.kind != MemberOperand::Kind::none && place(r) == site.result) site.passing = false;
    }
    for (size_t i = first; i < members.size(); ++i) {
      FusedUpdateMatch match = match_fused_update(std::span(sites).subspan(i));
      if (match.steps == 0) continue;
      Chain chain{i, std::move(match), {}};
      for (size_t r = 0; r < chain.match.places.size(); ++r) {
        const int at = chain.match.places[r];
        if (at >= 0) chain.registers[r] = places[static_cast<size_t>(at)];
      }
      i += chain.match.steps - 1;
      group_->chains.push_back(std::move(chain));
    }
  }

  void change(const Tensor* tensor) {
    const MemberOperand ref = refs_.at(tensor);
    if (ref.kind != MemberOperand::Kind::input) return;
    if (std::find(joined_.modified.begin(), joined_.modified.end(), ref.index) == joined_.modified.end())
      joined_.modified.push_back(ref.index);
  }

  /// The fused update, if it is all that follows the GEMM and its registers are operands, except for the GEMM's result.
  UpdateEpilogue chain_behind() const {
    const std::vector<Chain>& chains = group_->chains;
    if (chains.size() != 1 || chains[0].first != 1 || chains[0].match.steps + 1 != group_->members.size()) return {};
    const auto& registers = chains[0].registers;
    UpdateEpilogue chain;
    chain.slots.fill(-1);
    const MemberOperand& x = registers[0];
    if (x.kind != MemberOperand::Kind::block || x.index != group_->result.index) return {};
    for (size_t r = 1; r < registers.size(); ++r) {
      if (registers[r].kind == MemberOperand::Kind::none) continue;
      if (registers[r].kind != MemberOperand::Kind::input) return {};
      chain.slots[r] = registers[r].index;
    }
    chain.kind = chains[0].match.kind;
    chain.constants = [g = std::shared_ptr<const Group>(group_)](const Buffers& b, float* to) {
      return g->constants(b, g->chains[0], to);
    };
    return chain;
  }

  Kernel elementwise(int64_t elements, double work) {
    std::vector<Phase> phases;
    const std::shared_ptr<const Group> g = group_;
    g->prepare(g, phases);
    const int64_t grain = g->members[0].kernel.phases().back().grain;
    phases.push_back({elements, grain, [g](const Buffers& b, int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; i += block_elements)
                          g->run(b, i, std::min(i + block_elements, end), nullptr, 0);
                      }});
    return Kernel::parallel(std::move(phases), work).with_workspace(WorkspaceLayout(g->workspace()));
  }

  Kernel build_epilogue(const GemmShape& plan, bool half, double work) {
    ProductOptions options;
    options.half = half;
    const Member& head = group_->members[0];
    options.a = static_cast<size_t>(head.in[0].index);
    options.b = static_cast<size_t>(head.in[1].index);
    group_->result = head.out[0];
    const bool stored = head.out[0].kind == MemberOperand::Kind::output;
    options.out = stored ? head.out[0].index : -1;
    // out += alpha * (a @ b), the product not used otherwise: the GEMM accumulates in registers.
    const Member& last = group_->members.back();
    if (group_->members.size() == 2 && !half && !stored && last.kernel.axpy_alpha() &&
        last.out[0].kind == MemberOperand::Kind::input && last.in[0].index == last.out[0].index &&
        last.in[1].kind == MemberOperand::Kind::block) {
      options.add_to = last.in[0].index;
      options.alpha = *last.kernel.axpy_alpha();
      joined_.gemm_call = std::make_shared<const GemmCall>(GemmCall{plan, options});
      return product_kernel(plan, options);
    }
    const std::shared_ptr<const Group> g = group_;
    if (!stored && !half) options.update = chain_behind();
    options.epilogue_workspace = g->workspace();
    options.epilogue = [g](const Buffers& b, std::byte* values, int64_t begin, int64_t end) {
      g->run(b, begin, end, values, 1);
    };
    std::vector<Phase> phases;
    g->prepare(g, phases);
    joined_.gemm_call = std::make_shared<const GemmCall>(GemmCall{plan, options});
    const Kernel product = product_kernel(plan, std::move(options));
    for (const Phase& p : product.phases()) phases.push_back(p);
    return Kernel::parallel(std::move(phases), work).with_workspace(WorkspaceLayout(product.workspace()));
  }

  const std::vector<const Node*>& nodes_;
  const std::unordered_map<const Tensor*, bool>& needed_;
  std::shared_ptr<Group> group_ = std::make_shared<Group>();
  std::unordered_map<const Tensor*, MemberOperand> refs_;
  Node joined_;
  std::string name_;
};

}  // namespace

Node join(const std::vector<const Node*>& members, int64_t elements,
          const std::unordered_map<const Tensor*, bool>& needed) {
  return Joiner(members, needed).join(elements);
}

}  // namespace pxl
