#include "runtime/execute/process_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/threads/subnormals.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/ops/collective/collective.hpp"

namespace pxl {

namespace {

using Stops = std::span<const std::span<const CollectiveStop>>;

constexpr int64_t slice_grain = 16;  // elements

/// Whether one round of messages with whole operands takes less time than two rounds with slices. One round sends and
/// combines more bytes, and waits once less.
bool takes_one_round(int64_t bytes, int64_t processes) {
  constexpr int64_t worth_a_wait = 128 << 10;  // bytes: 13 us at 10 GB/s
  return (processes - 1) * (processes - 2) * bytes / processes + bytes / 2 <= worth_a_wait;
}

void run_kernel(const Kernel& kernel, const std::vector<const std::byte*>& in, const std::vector<std::byte*>& out) {
  const WorkspaceMemory workspace(workspace_bytes(kernel));
  const Buffers buffers = Buffers{in.data(), out.data()}.with_workspace(workspace.data(), kernel.workspace());
  if (worth_dividing(kernel))
    run_divided(kernel, buffers);
  else
    kernel(buffers);
}

/// Allocates parts of one memory block: counts the bytes first, then hands out the memory.
class Memory {
 public:
  int64_t take(int64_t bytes) {
    const int64_t at = size_;
    size_ += (bytes + 63) / 64 * 64;
    return at;
  }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
};

/// The members of a group that are in one process: positions in the group.
struct ProcessSlice {
  int process = 0;
  int64_t first = 0, last = 0;
};

/// A group of which this process has members.
struct Group {
  std::vector<int64_t> members;
  std::vector<ProcessSlice> shares;
  size_t own = 0;  ///< of the shares

  int64_t size() const { return static_cast<int64_t>(members.size()); }
  const ProcessSlice& mine() const { return shares[own]; }
};

std::vector<Group> groups_of(const OpContext& site, const Processes& processes, const ReplicaRange& range) {
  std::vector<Group> found;
  for (std::vector<int64_t>& members : group_members(replica_groups_of(site))) {
    Group group;
    for (int64_t m = 0; m < static_cast<int64_t>(members.size()); ++m) {
      const int process = processes.owner(static_cast<int>(members[static_cast<size_t>(m)]), range.total);
      if (group.shares.empty() || group.shares.back().process != process) group.shares.push_back({process, m, m});
      group.shares.back().last = m + 1;
    }
    group.members = std::move(members);
    for (size_t s = 0; s < group.shares.size(); ++s) {
      if (group.shares[s].process != processes.rank()) continue;
      group.own = s;
      found.push_back(std::move(group));
      break;
    }
  }
  return found;
}

/// A collective of one group: one or two rounds of messages, with work after each.
class Part {
 public:
  Part(Group group, size_t which, const ReplicaRange& range) : group_(std::move(group)), which_(which), range_(range) {}
  virtual ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  virtual void first_round(Stops stops, std::byte* memory, std::vector<Outgoing>& sends,
                           std::vector<Incoming>& receives) = 0;
  virtual void combine(Stops stops, std::byte* memory) = 0;
  virtual void second_round(Stops, std::vector<Outgoing>&, std::vector<Incoming>&) {}
  virtual void finish(Stops) {}

 protected:
  const CollectiveStop& stop(Stops stops, int64_t position) const {
    return stops[static_cast<size_t>(group_.members[static_cast<size_t>(position)] - range_.first)][which_];
  }
  bool is_mine(int64_t position) const { return position >= group_.mine().first && position < group_.mine().last; }

  Group group_;
  size_t which_;
  ReplicaRange range_;
};

/// Each process gets what its members need of all operands, and runs the kernel for these members.
class WholeOperands : public Part {
 public:
  WholeOperands(Group group, size_t which, const ReplicaRange& range, const CollectiveStop& like, Memory& memory)
      : Part(std::move(group), which, range), site_(*like.op), by_definition_(like.by_definition) {
    for (int64_t m = 0; m < group_.size(); ++m) {
      operands_.push_back(is_mine(m) ? 0 : memory.take(like.op->inputs[0]->spec.bytes()));
      results_.push_back(is_mine(m) || !by_definition_ ? 0 : memory.take(like.op->outputs[0]->spec.bytes()));
    }
  }

  void first_round(Stops stops, std::byte* memory, std::vector<Outgoing>& sends,
                   std::vector<Incoming>& receives) override {
    for (const ProcessSlice& share : group_.shares) {
      if (share.process == group_.mine().process) continue;
      for (int64_t m = group_.mine().first; m < group_.mine().last; ++m) {
        const ByteRange range = needed_bytes(site_.site, m, share.first, share.last);
        if (range.begin < range.end)
          sends.push_back({share.process, stop(stops, m).in + range.begin, range.end - range.begin});
      }
      for (int64_t m = share.first; m < share.last; ++m) {
        const ByteRange range = needed_bytes(site_.site, m, group_.mine().first, group_.mine().last);
        if (range.begin < range.end)
          receives.push_back(
              {share.process, memory + operands_[static_cast<size_t>(m)] + range.begin, range.end - range.begin});
      }
    }
  }

  void combine(Stops stops, std::byte* memory) override {
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    for (int64_t m = 0; m < group_.size(); ++m) {
      const auto i = static_cast<size_t>(m);
      in.push_back(is_mine(m) ? stop(stops, m).in : memory + operands_[i]);
      out.push_back(is_mine(m) ? stop(stops, m).out : by_definition_ ? memory + results_[i] : nullptr);
    }
    run_kernel(*stop(stops, group_.mine().first).kernel, in, out);
  }

 private:
  OpContextStorage site_;
  bool by_definition_;
  std::vector<int64_t> operands_, results_;  ///< of members elsewhere: where they are in the memory
};

/// A reduction in slices: each process combines the elements of one slice. It gets them from the others, combined as
/// far as their members are nodes of the tree.
class SlicedReduction : public Part {
 public:
  SlicedReduction(Group group, size_t which, const ReplicaRange& range, const CollectiveStop& like,
                  const GroupReduction& reduction, Memory& memory)
      : Part(std::move(group), which, range),
        to_(reduction.result),
        dtype_(like.op->inputs[0]->spec.dtype),
        width_(static_cast<int64_t>(size_of(dtype_))),
        combined_width_(static_cast<int64_t>(size_of(combined_dtype(dtype_)))),
        n_(like.op->inputs[0]->spec.size()) {
    const auto processes = static_cast<int64_t>(group_.shares.size());
    std::vector<TreeNode> all;
    for (int64_t s = 0; s < processes; ++s) {
      const ProcessSlice& share = group_.shares[static_cast<size_t>(s)];
      slices_.push_back(slice_of(share, s, processes));
      nodes_.push_back(tree_nodes(group_.size(), share.first, share.last));
      all.insert(all.end(), nodes_.back().begin(), nodes_.back().end());
    }
    for (const TreeNode& node : nodes_[group_.own]) {
      partial_kernels_.push_back(
          node.is_leaf() ? Kernel() : replica_partial_kernel(dtype_, reduction.reduction, n_, node.last - node.first));
      partials_.push_back(node.is_leaf() ? 0 : memory.take(n_ * combined_width_));
    }
    const Slice& mine = slices_[group_.own];
    for (size_t s = 0; s < nodes_.size(); ++s) {
      received_.emplace_back();
      for (const TreeNode& node : nodes_[s])
        received_.back().push_back(s == group_.own ? 0 : memory.take(mine.size() * width_of(node)));
    }
    join_ = replica_join_kernel(dtype_, reduction.reduction, mine.size(), group_.size(), all);
    if (to_.to != ReductionResult::To::all) result_ = memory.take(mine.size() * width_);
  }

  void first_round(Stops stops, std::byte* memory, std::vector<Outgoing>& sends,
                   std::vector<Incoming>& receives) override {
    const std::vector<TreeNode>& own = nodes_[group_.own];
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i].is_leaf()) continue;
      std::vector<const std::byte*> in;
      for (int64_t m = own[i].first; m < own[i].last; ++m) in.push_back(stop(stops, m).in);
      run_kernel(partial_kernels_[i], in, {memory + partials_[i]});
    }
    for (size_t s = 0; s < group_.shares.size(); ++s) {
      if (s == group_.own) continue;
      for (size_t i = 0; i < own.size() && slices_[s].size() > 0; ++i)
        sends.push_back({group_.shares[s].process, own_node(stops, memory, i) + slices_[s].begin * width_of(own[i]),
                         slices_[s].size() * width_of(own[i])});
      for (size_t i = 0; i < nodes_[s].size() && slices_[group_.own].size() > 0; ++i)
        receives.push_back(
            {group_.shares[s].process, memory + received_[s][i], slices_[group_.own].size() * width_of(nodes_[s][i])});
    }
  }

  void combine(Stops stops, std::byte* memory) override {
    const Slice& mine = slices_[group_.own];
    std::vector<const std::byte*> in;
    for (size_t s = 0; s < nodes_.size(); ++s)
      for (size_t i = 0; i < nodes_[s].size(); ++i)
        in.push_back(s == group_.own ? own_node(stops, memory, i) + mine.begin * width_of(nodes_[s][i])
                                     : memory + received_[s][i]);
    std::byte* to = to_.to == ReductionResult::To::all ? first_result(stops) + mine.begin * width_ : memory + result_;
    if (mine.size() > 0) run_kernel(join_, in, {to});
    if (to_.to != ReductionResult::To::all) give(stops, to);
  }

  void second_round(Stops stops, std::vector<Outgoing>& sends, std::vector<Incoming>& receives) override {
    if (to_.to != ReductionResult::To::all) return;
    const auto bytes_at = [&](const Slice& slice) { return first_result(stops) + slice.begin * width_; };
    const Slice& mine = slices_[group_.own];
    for (size_t s = 0; s < group_.shares.size(); ++s) {
      if (s == group_.own) continue;
      if (mine.size() > 0) sends.push_back({group_.shares[s].process, bytes_at(mine), mine.size() * width_});
      if (slices_[s].size() > 0)
        receives.push_back({group_.shares[s].process, bytes_at(slices_[s]), slices_[s].size() * width_});
    }
  }

  void finish(Stops stops) override {
    if (to_.to != ReductionResult::To::all) return;
    for (int64_t m = group_.mine().first + 1; m < group_.mine().last; ++m)
      std::copy_n(first_result(stops), n_ * width_, stop(stops, m).out);
  }

 private:
  struct Slice {
    int64_t begin = 0, end = 0;  ///< elements
    int64_t size() const { return end - begin; }
  };
  Slice slice_of(const ProcessSlice& share, int64_t index, int64_t processes) const {
    const auto cut = [&](int64_t i) { return i == processes ? n_ : n_ / processes * i / slice_grain * slice_grain; };
    switch (to_.to) {
      case ReductionResult::To::all: return {cut(index), cut(index + 1)};
      case ReductionResult::To::shards:
        return {std::min(n_, share.first * to_.shard), std::min(n_, share.last * to_.shard)};
      case ReductionResult::To::one: return {0, to_.root >= share.first && to_.root < share.last ? n_ : 0};
    }
    return {};
  }

  int64_t width_of(const TreeNode& node) const { return node.is_leaf() ? width_ : combined_width_; }
  const std::byte* own_node(Stops stops, const std::byte* memory, size_t i) const {
    const TreeNode& node = nodes_[group_.own][i];
    return node.is_leaf() ? stop(stops, node.first).in : memory + partials_[i];
  }
  std::byte* first_result(Stops stops) const { return stop(stops, group_.mine().first).out; }

  /// The slice of this process to its members.
  void give(Stops stops, const std::byte* from) const {
    const Slice& mine = slices_[group_.own];
    for (int64_t m = group_.mine().first; m < group_.mine().last; ++m) {
      const bool shards = to_.to == ReductionResult::To::shards;
      const int64_t size = shards ? to_.shard : n_;
      const int64_t begin = shards ? std::min(n_, m * to_.shard) : 0;
      const int64_t given = shards ? std::min(n_, (m + 1) * to_.shard) - begin : m == to_.root ? n_ : 0;
      std::byte* to = stop(stops, m).out;
      std::copy_n(from + (begin - mine.begin) * width_, given * width_, to);
      std::fill_n(to + given * width_, (size - given) * width_, std::byte{0});
    }
  }

  ReductionResult to_;
  DType dtype_;
  int64_t width_, combined_width_;
  int64_t n_;
  std::vector<Slice> slices_;                 ///< of each share
  std::vector<std::vector<TreeNode>> nodes_;  ///< of each share
  std::vector<Kernel> partial_kernels_;       ///< of this process's nodes
  std::vector<int64_t> partials_;             ///< where they are in the memory
  std::vector<std::vector<int64_t>> received_;
  Kernel join_;
  int64_t result_ = 0;
};

}  // namespace

class ProcessCollectives::Batch {
 public:
  Batch(const Processes& processes, const ReplicaRange& range, std::span<const CollectiveStop> stops) {
    int64_t bytes = 0;
    for (const CollectiveStop& stop : stops) bytes += stop.op->inputs[0]->spec.bytes();
    for (size_t which = 0; which < stops.size(); ++which) {
      const CollectiveStop& like = stops[which];
      const OpContextStorage storage(*like.op);
      const std::optional<GroupReduction> reduction = group_reduction(storage.site);
      for (Group& group : groups_of(storage.site, processes, range)) {
        const auto processes_of = static_cast<int64_t>(group.shares.size());
        const bool is_short =
            reduction && reduction->result.to == ReductionResult::To::all && takes_one_round(bytes, processes_of);
        const bool sliced = reduction && !like.by_definition && !is_short && processes_of > 1;
        if (sliced)
          parts_.push_back(
              std::make_unique<SlicedReduction>(std::move(group), which, range, like, *reduction, layout_));
        else
          parts_.push_back(std::make_unique<WholeOperands>(std::move(group), which, range, like, layout_));
      }
    }
  }

  int64_t bytes() const { return layout_.size(); }

  void run(Processes& processes, int replicas, Stops stops, std::byte* memory) {
    const CollectiveStop& first = stops[0][0];
    const Wait wait{fmt::format("in {}", first.op->row->schedule), first.op->origin.span, replicas};
    sends_.clear();
    receives_.clear();
    for (const auto& part : parts_) part->first_round(stops, memory, sends_, receives_);
    processes.exchange(sends_, receives_, wait);
    for (const auto& part : parts_) part->combine(stops, memory);
    sends_.clear();
    receives_.clear();
    for (const auto& part : parts_) part->second_round(stops, sends_, receives_);
    if (!sends_.empty() || !receives_.empty()) processes.exchange(sends_, receives_, wait);
    for (const auto& part : parts_) part->finish(stops);
  }

 private:
  Memory layout_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
};

ProcessCollectives::ProcessCollectives(Processes& processes, const ReplicaRange& range)
    : processes_(processes), range_(range), memory_(DType::uint8, {0}) {}
ProcessCollectives::~ProcessCollectives() = default;

void ProcessCollectives::run(Stops stops) {
  const FlushSubnormals flush;
  auto& batch = batches_[{stops[0][0].op, stops[0][0].step, stops[0].size()}];
  if (!batch) batch = std::make_unique<Batch>(processes_, range_, stops[0]);
  if (memory_.size() < batch->bytes()) memory_ = Array(DType::uint8, {batch->bytes()});
  batch->run(processes_, range_.total, stops, memory_.mutable_raw());
}

}  // namespace pxl
