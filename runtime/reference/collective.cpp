// Collectives: the operands of a group's members in, a result for each member out. An op's definition includes the
// order in which members are combined, and the dtype: float32 for float16, else the operands' own.
#include <bit>

#include "runtime/op/definitions.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

/// Rounds a value to the dtype in which replicas are combined.
double held(DType dtype, double x) { return dtype == DType::float64 ? x : static_cast<double>(static_cast<float>(x)); }
int64_t held(DType, int64_t x) { return x; }
uint64_t held(DType, uint64_t x) { return x; }

// Integers wrap around, also in 64 bits.
int64_t sum(int64_t x, int64_t y) { return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y)); }
int64_t product(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}
double sum(double x, double y) { return x + y; }
double product(double x, double y) { return x * y; }
uint64_t sum(uint64_t x, uint64_t y) { return x + y; }
uint64_t product(uint64_t x, uint64_t y) { return x * y; }

template <class T>
T joined(const std::string& op, T x, T y) {
  if (op == "mul") return product(x, y);
  if (op == "min") return smaller(x, y);
  if (op == "max") return larger(x, y);
  if constexpr (!std::is_floating_point_v<T>) {
    if (op == "and") return x & y;
    if (op == "or") return x | y;
  }
  return sum(x, y);
}

/// T(a, b) combines members a to b - 1: T(a, m) with T(m, b). The distance m - a is the largest power of two below b -
/// a.
template <class T, class Read>
xt::xarray<T> tree(const std::string& op, DType dtype, size_t a, size_t b, const Read& read) {
  if (b - a == 1) return read(a);
  const size_t m = a + std::bit_floor(b - a - 1);
  const xt::xarray<T> left = tree<T>(op, dtype, a, m, read), right = tree<T>(op, dtype, m, b, read);
  return each([&](T x, T y) { return held(dtype, joined(op, x, y)); }, left, right);
}

/// Reduces all members, and passes the reduction to `give`.
template <class Give>
void reduce(ReferenceContext& c, const std::string& op, const Give& give) {
  const size_t members = c.operands();
  const DType dtype = c.dtype(0);
  const auto squared = [&](auto x) {
    using T = typename decltype(x)::value_type;
    if (op != "square_add") return x;
    return decltype(x)(each([&](T v) { return held(dtype, product(v, v)); }, x));
  };
  if (is_floating(dtype)) {
    Reals all = tree<double>(op, dtype, 0, members, [&](size_t i) { return squared(c.real(i)); });
    if (op == "mean") all = each([&](double v) { return held(dtype, v / static_cast<double>(members)); }, all);
    give(all);
  } else if (dtype == DType::uint64) {
    give(tree<uint64_t>(op, dtype, 0, members, [&](size_t i) { return squared(c.natural(i)); }));
  } else {
    give(tree<int64_t>(op, dtype, 0, members, [&](size_t i) { return squared(c.whole(i)); }));
  }
}

void to_all(ReferenceContext& c, const std::string& op) {
  reduce(c, op, [&](const auto& all) {
    for (size_t i = 0; i < c.operands(); ++i) c.out(i, all);
  });
}

}  // namespace

void replicated_all_reduce(ReferenceContext& c) { to_all(c, c.string("op")); }
void replicated_sum(ReferenceContext& c) { to_all(c, "add"); }

void identities(ReferenceContext& c) {
  for (size_t i = 0; i < c.operands(); ++i) c.move(i, c.pattern(i));
}

void replicated_reduce_scatter(ReferenceContext& c) {
  reduce(c, c.string("op"), [&](const auto& all) {
    using All = std::decay_t<decltype(all)>;
    const size_t shard = static_cast<size_t>(c.out_shape()[0]);
    for (size_t i = 0; i < c.operands(); ++i) {
      All part = All::from_shape({shard});
      for (size_t k = 0; k < shard; ++k) part.data()[k] = i * shard + k < all.size() ? all.data()[i * shard + k] : 0;
      c.out(i, part);
    }
  });
}

void replicated_reduce(ReferenceContext& c) {
  reduce(c, "add", [&](const auto& all) {
    using All = std::decay_t<decltype(all)>;
    for (size_t i = 0; i < c.operands(); ++i)
      c.out(i, static_cast<int64_t>(i) == c.integer("root") ? All(all) : All(xt::zeros_like(all)));
  });
}

void replicated_gather(ReferenceContext& c) {
  std::vector<uint64_t> all;
  for (size_t i = 0; i < c.operands(); ++i) {
    const Patterns x = c.pattern(i);
    all.insert(all.end(), x.begin(), x.end());
  }
  all.resize(static_cast<size_t>(element_count(c.out_shape())));  // shards are padded
  const Patterns flat = xt::adapt(all, std::vector<size_t>{all.size()});
  for (size_t i = 0; i < c.operands(); ++i) c.move(i, flat);
}

void replicated_broadcast(ReferenceContext& c) {
  const Patterns root = c.pattern(static_cast<size_t>(c.integer("root")));
  for (size_t i = 0; i < c.operands(); ++i) c.move(i, root);
}

void replicated_all_to_all(ReferenceContext& c) {
  const size_t members = c.operands();
  std::vector<Patterns> x;
  for (size_t i = 0; i < members; ++i) x.push_back(c.pattern(i));
  const size_t part = x[0].size() / members;
  for (size_t i = 0; i < members; ++i) {
    Patterns got = x[i];
    for (size_t from = 0; from < members; ++from)
      for (size_t k = 0; k < part; ++k) got.data()[from * part + k] = x[from].data()[i * part + k];
    c.move(i, got);
  }
}

void replica_slice(ReferenceContext& c) {
  const auto replica = static_cast<size_t>(c.whole(1).data()[0]);
  const auto position = static_cast<size_t>(positions_in_group(replica_groups_of(c.site()))[replica]);
  const Patterns x = c.pattern(0);
  Patterns shard = Patterns::from_shape({static_cast<size_t>(c.out_shape()[0])});
  for (size_t k = 0; k < shard.size(); ++k) {
    const size_t from = position * shard.size() + k;
    shard.data()[k] = from < x.size() ? x.data()[from] : 0;
  }
  c.move(0, shard);
}

void replica_index(ReferenceContext& c) {
  const int64_t replica = c.whole(0).data()[0];
  c.out(0, Wholes(replica));
}

}  // namespace pxl::reference
