#include "runtime/kernels/outside/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/block/extremes.hpp"
#include "runtime/kernels/outside/replica_tree.hpp"

namespace pxl {

namespace {

constexpr std::array<std::string_view, 8> reduction_names = {"add", "mean", "mul", "min",
                                                             "max", "and",  "or",  "square_add"};
constexpr int64_t block_elements = 2048;  // combined at a time: the slots of 4,096 members fit L2
constexpr size_t max_slots = combine_slots(std::numeric_limits<int32_t>::max());  // replicas are counted in int
constexpr double byte_ns = 0.05;  // per byte copied or combined: as an addition in L2 (`bench_runtime`, add)

template <class C>
C added(C a, C b) {
  if constexpr (std::is_integral_v<C> && !std::is_same_v<C, bool>)
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return static_cast<C>(a + b);
}
template <class C>
C multiplied(C a, C b) {
  if constexpr (std::is_integral_v<C> && !std::is_same_v<C, bool>)
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return static_cast<C>(a * b);
}

/// `to` may be `a` or `b`.
template <class C, class F>
void combine(const C* a, const C* b, C* to, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) to[i] = f(a[i], b[i]);
}

template <class C>
void join(ReplicaReduction reduction, const C* a, const C* b, C* to, int64_t n) {
  switch (reduction) {
    case ReplicaReduction::add:
    case ReplicaReduction::mean:
    case ReplicaReduction::square_add: return combine(a, b, to, n, added<C>);
    case ReplicaReduction::mul: return combine(a, b, to, n, multiplied<C>);
    case ReplicaReduction::min: return combine(a, b, to, n, [](C x, C y) { return smaller(x, y); });
    case ReplicaReduction::max: return combine(a, b, to, n, [](C x, C y) { return larger(x, y); });
    case ReplicaReduction::and_:
      if constexpr (std::is_integral_v<C>) combine(a, b, to, n, [](C x, C y) { return static_cast<C>(x & y); });
      return;
    case ReplicaReduction::or_:
      if constexpr (std::is_integral_v<C>) combine(a, b, to, n, [](C x, C y) { return static_cast<C>(x | y); });
      return;
  }
}

/// The function that joins two blocks, for the processor's instruction set; null if there is none.
BinaryFn joining_block(ReplicaReduction reduction, DType dtype) {
  switch (reduction) {
    case ReplicaReduction::add:
    case ReplicaReduction::mean:
    case ReplicaReduction::square_add: return binary_block(Binary::add, dtype).vv;
    case ReplicaReduction::mul: return binary_block(Binary::mul, dtype).vv;
    case ReplicaReduction::min:
    case ReplicaReduction::max:
    case ReplicaReduction::and_:
    case ReplicaReduction::or_: return nullptr;
  }
  return nullptr;
}

template <class T>
void read(const T* from, compute_type<T>* to, int64_t n) {
  if constexpr (is_narrow_v<T>)
    to_float(from, to, n);
  else
    std::copy_n(from, n, to);
}
template <class T>
void write(const compute_type<T>* from, T* to, int64_t n) {
  if constexpr (is_narrow_v<T>)
    to_narrow(from, to, n);
  else
    std::copy_n(from, n, to);
}

/// A reduction, or a part of one: the tree nodes that it reads, and the values that it returns.
struct ReductionForm {
  ReplicaReduction reduction = ReplicaReduction::add;
  int64_t n = 0;
  int64_t members = 0;
  std::vector<TreeNode> nodes = {};  ///< the operands, ascending
  ReductionResult result = {};
  bool partial = false;  ///< returns combined values, not divided
  int64_t results = 1;   ///< results of To::all
};

std::vector<TreeNode> leaves(int64_t members) {
  std::vector<TreeNode> all;
  for (int64_t m = 0; m < members; ++m) all.push_back({m, m + 1});
  return all;
}

template <class T>
class MemberReduction {
 public:
  using C = compute_type<T>;
  explicit MemberReduction(ReductionForm form) : form_(std::move(form)) {
    node_at_.resize(static_cast<size_t>(form_.members), 0);
    for (size_t i = 0; i < form_.nodes.size(); ++i) node_at_[static_cast<size_t>(form_.nodes[i].first)] = i;
  }

  Kernel kernel() {
    WorkspaceLayout layout;
    join_ = joining_block(form_.reduction, dtype_of<C>());
    slots_ = layout.per_thread<C>(block_elements * combine_slots(form_.members));
    std::vector<Phase> phases = {
        {form_.n, block_elements, [self = *this](const Buffers& b, int64_t begin, int64_t end) {
           for (int64_t at = begin; at < end; at += block_elements) self.run(b, at, std::min(block_elements, end - at));
         }}};
    if (form_.result.to != ReductionResult::To::all)
      phases.push_back({1, 1, [self = *this](const Buffers& b, int64_t, int64_t) { self.clear_rest(b); }});
    const double bytes = static_cast<double>(form_.n) * static_cast<double>(form_.nodes.size()) * sizeof(T);
    return Kernel::parallel(std::move(phases), 2 * bytes * byte_ns).with_workspace(layout);
  }

 private:
  void run(const Buffers& b, int64_t at, int64_t count) const {
    C* slots = b.workspace(slots_);
    const auto memory = [&](size_t slot) { return slots + static_cast<int64_t>(slot) * block_elements; };
    std::array<const C*, max_slots> values{};  // by slot: its values
    const auto node = [&](int64_t first, int64_t last, size_t slot) {
      const size_t i = node_at_[static_cast<size_t>(first)];
      if (form_.nodes[i] != TreeNode{first, last}) return false;
      const bool is_leaf = last - first == 1;
      const bool squared = is_leaf && form_.reduction == ReplicaReduction::square_add;
      if (!is_leaf || (std::is_same_v<C, T> && !squared)) {
        values[slot] = b.input<C>(i) + at;
        return true;
      }
      C* to = memory(slot);
      read(b.input<T>(i) + at, to, count);
      for (int64_t k = 0; squared && k < count; ++k) to[k] = multiplied(to[k], to[k]);
      values[slot] = to;
      return true;
    };
    // The last sum is written to its destination, which may be where an operand is.
    C* const wanted = own_result(b, at);
    size_t joins = form_.nodes.size() - 1;
    combine_nodes(0, form_.members, 0, node, [&](size_t left, size_t right) {
      C* to = --joins == 0 && wanted ? wanted : memory(left);
      if (join_)
        join_(values[left], values[right], to, count);
      else
        join(form_.reduction, values[left], values[right], to, count);
      values[left] = to;
    });
    if (wanted) {
      if (values[0] != wanted) std::copy_n(values[0], count, wanted);
      return;
    }
    if constexpr (std::is_floating_point_v<C>) {
      if (form_.reduction == ReplicaReduction::mean) {
        C* to = memory(0);
        for (int64_t i = 0; i < count; ++i) to[i] = values[0][i] / static_cast<C>(form_.members);
        values[0] = to;
      }
    }
    give(b, values[0], at, count);
  }

  /// The destination of the only result, if it has the form of the sum.
  C* own_result(const Buffers& b, int64_t at) const {
    if (form_.partial) return b.output<C>(0) + at;
    const bool divided = std::is_floating_point_v<C> && form_.reduction == ReplicaReduction::mean;
    if (!std::is_same_v<C, T> || divided || form_.result.to != ReductionResult::To::all || form_.results != 1)
      return nullptr;
    C* to = b.output<C>(0);
    return to ? to + at : nullptr;
  }

  void give(const Buffers& b, const C* values, int64_t at, int64_t count) const {
    const auto give_to = [&](int64_t member, const C* from, int64_t begin, int64_t length) {
      if (T* to = b.output<T>(static_cast<size_t>(member))) write(from, to + begin, length);
    };
    switch (form_.result.to) {
      case ReductionResult::To::all:
        for (int64_t m = 0; m < form_.results; ++m) give_to(m, values, at, count);
        return;
      case ReductionResult::To::one: give_to(form_.result.root, values, at, count); return;
      case ReductionResult::To::shards:
        while (count > 0) {
          const int64_t member = at / form_.result.shard, within = at % form_.result.shard;
          const int64_t length = std::min(count, form_.result.shard - within);
          give_to(member, values, within, length);
          values += length, at += length, count -= length;
        }
    }
  }

  void clear_rest(const Buffers& b) const {
    for (int64_t m = 0; m < form_.members; ++m) {
      T* to = b.output<T>(static_cast<size_t>(m));
      if (!to) continue;
      if (form_.result.to == ReductionResult::To::one) {
        if (m != form_.result.root) std::fill_n(to, form_.n, T{});
        continue;
      }
      const int64_t given = std::clamp<int64_t>(form_.n - m * form_.result.shard, 0, form_.result.shard);
      std::fill(to + given, to + form_.result.shard, T{});
    }
  }

  ReductionForm form_;
  std::vector<size_t> node_at_;  ///< node by first member
  PerThread<C> slots_;
  BinaryFn join_ = nullptr;
};

Kernel reduction_kernel(DType dtype, ReductionForm form) {
  return with_type(dtype, [&]<class T>(type_tag<T>) { return MemberReduction<T>(std::move(form)).kernel(); });
}

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
  if (bytes > 0 && to && to != from) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace

ReplicaReduction replica_reduction(std::string_view name) {
  const auto found = std::find(reduction_names.begin(), reduction_names.end(), name);
  if (found == reduction_names.end())
    throw Error(fmt::format("not a valid op: {}; it is one of {}", name, join_texts(reduction_names, ", ")))
        .as(codes::value);
  return static_cast<ReplicaReduction>(found - reduction_names.begin());
}

Kernel replica_reduction_kernel(DType dtype, ReplicaReduction reduction, int64_t n, int64_t members,
                                const ReductionResult& result) {
  return reduction_kernel(dtype, {reduction, n, members, leaves(members), result, false, members});
}

DType combined_dtype(DType dtype) { return compute_dtype(dtype); }

Kernel replica_partial_kernel(DType dtype, ReplicaReduction reduction, int64_t n, int64_t members) {
  return reduction_kernel(dtype, {reduction, n, members, leaves(members), {}, true});
}

Kernel replica_join_kernel(DType dtype, ReplicaReduction reduction, int64_t n, int64_t members,
                           std::vector<TreeNode> nodes) {
  return reduction_kernel(dtype, {reduction, n, members, std::move(nodes)});
}

Kernel replica_gather_kernel(int64_t bytes, int64_t members, int64_t total) {
  const double copied = static_cast<double>(total) * static_cast<double>(members);
  return Kernel::parallel(members, 1, copied * byte_ns, [=](const Buffers& b, int64_t begin, int64_t end) {
    for (int64_t to = begin; to < end; ++to)
      for (int64_t m = 0; b.out[to] && m < members; ++m)
        copy_bytes(b.out[to] + m * bytes, b.in[m], std::min(bytes, total - m * bytes));
  });
}

Kernel replica_broadcast_kernel(int64_t bytes, int64_t members, int64_t root) {
  const double total = static_cast<double>(bytes) * static_cast<double>(members);
  return Kernel::parallel(members, 1, total * byte_ns, [=](const Buffers& b, int64_t begin, int64_t end) {
    for (int64_t to = begin; to < end; ++to) copy_bytes(b.out[to], b.in[root], bytes);
  });
}

Kernel replica_exchange_kernel(int64_t bytes, int64_t members) {
  const double total = static_cast<double>(bytes) * static_cast<double>(members);
  return Kernel::parallel(members, 1, total * byte_ns,
                          [=, part = bytes / members](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t to = begin; to < end; ++to)
                              for (int64_t m = 0; b.out[to] && m < members; ++m)
                                copy_bytes(b.out[to] + m * part, b.in[m] + to * part, part);
                          });
}

Kernel replica_slice_kernel(int64_t bytes, int64_t shard_bytes, std::vector<int64_t> positions) {
  return [=, positions = std::move(positions)](const Buffers& b) {
    const int64_t begin = positions[static_cast<size_t>(b.input<int32_t>(1)[0])] * shard_bytes;
    const int64_t given = std::clamp<int64_t>(bytes - begin, 0, shard_bytes);
    copy_bytes(b.out[0], b.in[0] + begin, given);
    std::fill(b.out[0] + given, b.out[0] + shard_bytes, std::byte{0});
  };
}

}  // namespace pxl
