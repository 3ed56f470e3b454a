// Host arrays whose shape depends on elements: nonzero, bincount, unique.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "interpreter/library/builtins.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/tensor/exact.hpp"

namespace pxl {

namespace {

/// The argument as an array: a tensor has no elements before a run.
Array elements_of(Interpreter& in, const ArgReader& args, std::string_view name) {
  const Value x = args.value("x");
  if (mentions_tensor(x))
    throw Error(
        fmt::format("{}: the shape of its result depends on elements, and a tensor has none before a session runs",
                    name),
        {"`eval(t)` gives a tensor's value"})
        .as(codes::no_value_yet);
  return to_array(in, x);
}

Value nonzero(Interpreter& in, const Arguments& args) {
  const Array x = elements_of(in, ArgReader("nonzero", args, {"x"}), "nonzero");
  const auto rank = static_cast<int64_t>(x.rank());
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.size(); ++i) {
    charge(5);
    if (x.number(i) != 0) found.push_back(i);  // a NaN is not 0
  }
  Array places(DType::int32, {static_cast<int64_t>(found.size()), rank});
  int32_t* to = places.has_elements() ? places.mutable_data<int32_t>() : nullptr;
  const Shape strides = strides_of(x.shape());
  for (const int64_t at : found)
    for (size_t axis = 0; axis < strides.size(); ++axis)
      *to++ = static_cast<int32_t>(at / strides[axis] % x.shape()[axis]);
  return places;
}

Value bincount(Interpreter& in, const Arguments& args) {
  const ArgReader a("bincount", args, {"x", "minlength"});
  const Array x = elements_of(in, a, "bincount");
  constexpr int64_t most = int64_t{1} << 31;
  int64_t n = a.integer_or("minlength", 0);
  if (n < 0 || n > most) throw run_error(fmt::format("bincount: minlength must be in 0..{}, not {}", most, n));
  if (!is_integer(x.dtype()) && x.size() > 0)
    throw run_error(fmt::format("bincount: x must be integers, not {}", name(x.dtype())), {"cast it: cast(x, int32)"})
        .as(codes::dtype);
  for (int64_t i = 0; i < x.size(); ++i) {
    charge(5);
    const double value = x.number(i);
    if (value < 0 || value >= static_cast<double>(most))
      throw run_error(fmt::format("bincount: element {} is {}; expected 0..{}", i, value, most - 1));
    n = std::max(n, x.integer(i) + 1);
  }
  Array counts = Array::zeros(DType::int32, {n});
  int32_t* to = n > 0 ? counts.mutable_data<int32_t>() : nullptr;
  for (int64_t i = 0; i < x.size(); ++i) ++to[x.integer(i)];
  return counts;
}

/// The places of x, sorted by their elements with NaN last, and where each different element begins there.
struct Groups {
  std::vector<int64_t> order, begins;
};
template <class T>
Groups groups_of(const T* x, int64_t n) {
  const auto number = [](T v) {
    if constexpr (is_narrow_v<T>)
      return static_cast<float>(v);
    else
      return v;
  };
  const auto precedes = [&](T left, T right) {
    const auto a = number(left), b = number(right);
    return a < b || (b != b && a == a);
  };
  Groups g;
  g.order.resize(static_cast<size_t>(n));
  std::iota(g.order.begin(), g.order.end(), 0);
  std::stable_sort(g.order.begin(), g.order.end(), [&](int64_t i, int64_t j) { return precedes(x[i], x[j]); });
  for (size_t i = 0; i < g.order.size(); ++i)
    if (i == 0 || precedes(x[g.order[i - 1]], x[g.order[i]])) g.begins.push_back(static_cast<int64_t>(i));
  return g;
}

Value unique(Interpreter& in, const Arguments& args) {
  const ArgReader a("unique", args, {"x", "return_inverse", "return_counts"});
  const Array x = elements_of(in, a, "unique");
  charge(20 * x.size());
  Array different;
  Groups groups;
  with_type(x.dtype(), [&]<class T>(type_tag<T>) {
    groups = groups_of(x.data<T>(), x.size());
    different = Array(x.dtype(), {static_cast<int64_t>(groups.begins.size())});
    if (!different.has_elements()) return;
    T* to = different.mutable_data<T>();
    for (const int64_t begin : groups.begins) *to++ = x.data<T>()[groups.order[static_cast<size_t>(begin)]];
  });
  const bool with_inverse = a.boolean_or("return_inverse", false), with_counts = a.boolean_or("return_counts", false);
  if (!with_inverse && !with_counts) return different;
  std::vector<Value> results{different};
  Array inverse(DType::int32, x.shape()), counts(DType::int32, different.shape());
  for (size_t k = 0; k < groups.begins.size(); ++k) {
    const int64_t end = k + 1 < groups.begins.size() ? groups.begins[k + 1] : x.size();
    counts.mutable_data<int32_t>()[k] = static_cast<int32_t>(end - groups.begins[k]);
    for (int64_t i = groups.begins[k]; i < end; ++i)
      inverse.mutable_data<int32_t>()[groups.order[static_cast<size_t>(i)]] = static_cast<int32_t>(k);
  }
  if (with_inverse) results.emplace_back(inverse);
  if (with_counts) results.emplace_back(counts);
  return make_tuple(std::move(results));
}

}  // namespace

void bind_counting_builtins(Scope& p) {
  define(p, no_effects, "nonzero", "nonzero(x)",
         "The places of the elements that are not 0, int32 [count, rank], in row-major order.", nonzero);
  define(p, no_effects, "bincount", "bincount(x, minlength = 0)",
         "How often each integer from 0 on is in an array, as int32.", bincount);
  define(p, no_effects, "unique", "unique(x, return_inverse = false, return_counts = false)",
         "The different elements in ascending order; on request also where each element of x is among them, and how "
         "often each is in x.",
         unique);
}

}  // namespace pxl
