// NumPy's indexing of host arrays. Each key is converted to a list of positions per source axis, so that reading and
// writing are one loop each over gathered offsets. Index arrays and masks broadcast as in NumPy; their axes come first
// unless they are adjacent.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interpreter/values/array_copies.hpp"
#include "interpreter/values/arrays.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/budget.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

struct Axis {
  int64_t stride = 0;  ///< of the source, in elements
  int64_t start = 0, step = 1, count = 1;
  bool dropped = false;   ///< an int
  bool fresh = false;     ///< none: a new axis
  bool advanced = false;  ///< an index array
  Array positions;        ///< int64, advanced only
};

struct Plan {
  Shape shape;
  std::vector<int64_t> offsets;  ///< in elements, for every run of the result, unless it is a window
  int64_t run = 1;               ///< adjacent elements from each offset on
  bool window = false;           ///< a strided window: no index arrays
  int64_t base = 0;              ///< of a window: its first element, its extents but for the run, and their strides
  Shape extents, strides;
};

[[noreturn]] void bad_key(const Value& v) {
  throw Error("an array is indexed by ints, slices, `...`, none, arrays of ints and arrays of bools, not by " +
              with_article(v.type_name()))
      .as(codes::index);
}

std::vector<Value> parts_of(const Value& key) {
  auto* tuple = key.as<TupleObject>();
  return tuple ? tuple->items : std::vector<Value>{key};
}

// A list used as a key is an index array.
std::optional<Array> index_array(Interpreter& in, const Value& v) {
  if (const Array* a = v.as_array()) {
    if (a->rank() == 0 && is_integer(a->dtype())) return std::nullopt;  // an int
    return *a;
  }
  if (v.as<ListObject>()) {
    if (v.as<ListObject>()->items.empty()) return Array::zeros(DType::int64, {0});
    return to_array(in, v);
  }
  if (v.is_bool()) bad_key(v);
  return std::nullopt;
}

// The positions of a mask's true elements, one array for each of its axes.
std::vector<Array> nonzero(const Array& mask) {
  std::vector<int64_t> flat;
  for (int64_t i = 0; i < mask.size(); ++i) {
    charge(5);
    if (mask.integer(i)) flat.push_back(i);
  }
  const Shape strides = strides_of(mask.shape());
  std::vector<Array> out;
  for (size_t d = 0; d < mask.shape().size(); ++d) {
    Array positions(DType::int64, {static_cast<int64_t>(flat.size())});
    auto* to = positions.mutable_data<int64_t>();
    for (size_t i = 0; i < flat.size(); ++i) to[i] = flat[i] / strides[d] % mask.shape()[d];
    out.push_back(std::move(positions));
  }
  return out;
}

std::vector<Axis> read_key(Interpreter& in, const Array& a, const Value& key) {
  std::vector<Value> parts = parts_of(key);
  int64_t used = 0;
  int ellipses = 0;
  for (const Value& p : parts) {
    if (p.as<EllipsisObject>()) {
      ++ellipses;
      continue;
    }
    if (p.is_none()) continue;
    const std::optional<Array> index = index_array(in, p);
    used += index && index->dtype() == DType::boolean ? index->rank() : 1;
  }
  if (ellipses > 1) throw Error("an index can hold only one `...`").as(codes::index);
  if (used > a.rank()) {
    throw run_error(fmt::format("too many subscripts: {} for an array of shape {}", used, bracket_text(a.shape())))
        .as(codes::index);
  }
  if (!ellipses) parts.push_back(std::make_shared<EllipsisObject>());

  const Shape strides = strides_of(a.shape());
  std::vector<Axis> axes;
  size_t at = 0;
  auto extent = [&] { return a.shape()[at]; };
  for (const Value& p : parts) {
    Axis axis;
    if (p.as<EllipsisObject>()) {
      for (int64_t i = a.rank() - used; i > 0; --i) {
        Axis whole;
        whole.stride = strides[at];
        whole.count = extent();
        axes.push_back(whole);
        ++at;
      }
      continue;
    }
    if (p.is_none()) {
      axis.fresh = true;
      axes.push_back(axis);
      continue;
    }
    if (std::optional<Array> index = index_array(in, p)) {
      std::vector<Array> positions;
      if (index->dtype() == DType::boolean) {
        for (size_t d = 0; d < index->shape().size(); ++d) {
          if (index->shape()[d] != a.shape()[at + d]) {
            throw run_error(fmt::format("a mask of shape {} does not fit an array of shape {}",
                                        bracket_text(index->shape()), bracket_text(a.shape())))
                .as(codes::index);
          }
        }
        positions = nonzero(*index);
      } else if (is_integer(index->dtype())) {
        positions.push_back(index->cast(DType::int64));
      } else {
        throw Error(fmt::format("an index array needs ints or bools, not {}", name(index->dtype()))).as(codes::index);
      }
      for (Array& each : positions) {
        Axis advanced;
        advanced.advanced = true;
        advanced.stride = strides[at];
        auto* to = each.mutable_data<int64_t>();
        charge_steps(each.size(), 2);
        for (int64_t i = 0; i < each.size(); ++i)
          if (to[i] < 0 || to[i] >= extent()) to[i] = wrap_index(to[i], extent(), fmt::format("axis {}", at));
        advanced.positions = std::move(each);
        axes.push_back(std::move(advanced));
        ++at;
      }
      continue;
    }
    axis.stride = strides[at];
    if (auto* s = p.as<SliceObject>()) {
      const SliceRange r = resolve_slice(*s, extent());
      axis.start = r.start;
      axis.step = r.step;
      axis.count = r.count;
    } else if (p.is_int() || p.as_array()) {
      axis.start = wrap_index(to_index(p, "index"), extent(), fmt::format("axis {}", at));
      axis.dropped = true;
    } else {
      bad_key(p);
    }
    axes.push_back(axis);
    ++at;
  }
  return axes;
}

/// `windows`: whether what has no index arrays may be a window, without offsets.
Plan plan_for(Interpreter& in, const Array& a, const Value& key, bool windows) {
  const std::vector<Axis> axes = read_key(in, a, key);
  // One block of loop dimensions per axis; all index arrays share one block, in their position if they are adjacent,
  // otherwise first.
  Shape index_shape;
  size_t first = axes.size(), last = 0, count = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i].advanced) continue;
    index_shape = count == 0 ? axes[i].positions.shape() : broadcast(index_shape, axes[i].positions.shape());
    first = std::min(first, i);
    last = i;
    ++count;
  }
  const bool adjacent = count > 0 && last - first + 1 == count;

  Plan plan;
  int64_t base = 0;
  struct Dim {
    int64_t count, stride;
    const std::vector<int64_t>* table;
  };
  std::vector<Dim> dims;
  std::vector<int64_t> table;  // offsets of the index arrays' block, flattened
  if (count) {
    const int64_t n = element_count(index_shape);
    table.assign(static_cast<size_t>(n), 0);
    for (const Axis& axis : axes) {
      if (!axis.advanced) continue;
      // Broadcasts the positions to the block's shape.
      const Shape own = axis.positions.shape();
      const Shape own_strides = strides_of(own);
      const Shape block = strides_of(index_shape);
      const auto* from = axis.positions.data<int64_t>();
      for (int64_t i = 0; i < n; ++i) {
        charge(5);
        int64_t at = 0;
        for (size_t d = 0; d < own.size(); ++d) {
          const size_t b = d + index_shape.size() - own.size();
          if (own[d] != 1) at += (i / block[b] % index_shape[b]) * own_strides[d];
        }
        table[static_cast<size_t>(i)] += from[at] * axis.stride;
      }
    }
  }
  auto add_block = [&] {
    plan.shape.insert(plan.shape.end(), index_shape.begin(), index_shape.end());
    dims.push_back({static_cast<int64_t>(table.size()), 0, &table});
  };
  if (count && !adjacent) add_block();
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    if (axis.advanced) {
      if (adjacent && i == first) add_block();
      continue;
    }
    if (axis.fresh) {
      plan.shape.push_back(1);
      continue;
    }
    base += axis.start * axis.stride;
    if (axis.dropped) continue;
    plan.shape.push_back(axis.count);
    dims.push_back({axis.count, axis.step * axis.stride, nullptr});
  }
  if (!a.has_elements()) return plan;
  // Trailing dimensions that are contiguous in memory form one run.
  while (!dims.empty() && !dims.back().table && (dims.back().stride == plan.run || dims.back().count == 1)) {
    plan.run *= dims.back().count;
    dims.pop_back();
  }
  plan.window = windows && count == 0 && !dims.empty();
  if (plan.window) {
    plan.base = base;
    for (const Dim& d : dims) {
      plan.extents.push_back(d.count);
      plan.strides.push_back(d.stride);
    }
    return plan;
  }
  if (element_count(plan.shape) / std::max<int64_t>(plan.run, 1) > (int64_t{1} << 31)) {
    throw run_error(fmt::format("the selection of shape {} is too large", bracket_text(plan.shape))).as(codes::memory);
  }
  plan.offsets.assign(1, base);
  for (const Dim& d : dims) {
    std::vector<int64_t> next;
    next.reserve(plan.offsets.size() * static_cast<size_t>(d.count));
    for (int64_t offset : plan.offsets) {
      for (int64_t i = 0; i < d.count; ++i) {
        charge(2);
        next.push_back(offset + (d.table ? (*d.table)[static_cast<size_t>(i)] : i * d.stride));
      }
    }
    plan.offsets = std::move(next);
  }
  if (plan.run == 0 || element_count(plan.shape) == 0) plan.offsets.clear();
  return plan;
}

/// The rows of an array as offsets in it.
class Rows {
 public:
  explicit Rows(const Array& a) : extent_(a.shape()[0]), row_(a.size() / extent_) {}

  int64_t row() const { return row_; }  ///< elements of one row
  /// Offsets of the positions of an index; negative positions count from the end.
  void pick(const Array& index, std::vector<int64_t>& offsets) const {
    offsets.resize(static_cast<size_t>(index.size()));
    int64_t* to = offsets.data();
    each(index, 0, index.size(), [&](int64_t at) {
      if (at < 0 || at >= extent_) at = wrap_index(at, extent_, "axis 0");
      *to++ = at * row_;
    });
  }
  /// Offsets of the `count` positions that follow the index in memory, if they are valid rows.
  void pick_following(const Array& index, int64_t count, std::vector<int64_t>& offsets) const {
    offsets.resize(static_cast<size_t>(count));
    int64_t* to = offsets.data();
    each(index, index.size(), index.size() + count, [&](int64_t at) {
      if (at >= 0 && at < extent_) *to++ = at * row_;
    });
    offsets.resize(static_cast<size_t>(to - offsets.data()));
  }

 private:
  template <class F>
  static void each(const Array& index, int64_t begin, int64_t end, F&& f) {
    with_type(index.dtype(), [&]<class T>(type_tag<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const T* data = index.data<T>();
        for (int64_t i = begin; i < end; ++i) f(static_cast<int64_t>(data[i]));
      }
    });
  }

  int64_t extent_, row_;
};

/// The last slice of positions that was used. A loop over shuffled positions selects rows by consecutive slices, so the
/// rows of the next slice are prefetched.
class LastSlice {
 public:
  void note(const Array& whole, const Array& slice) {
    if (slice.rank() != 1 || !is_integer(slice.dtype()) || !whole.has_elements()) return;
    if (whole.raw() != whole_.raw() || whole.size() != whole_.size() || whole.dtype() != whole_.dtype()) whole_ = whole;
    at_ = slice.raw();
  }

  /// The number of positions that follow `index`, at most its own number; 0 if it is not that slice.
  int64_t following(const Array& index) const {
    if (index.raw() != at_ || index.dtype() != whole_.dtype()) return 0;
    const auto width = static_cast<int64_t>(size_of(index.dtype()));
    return std::min(index.size(), whole_.size() - (index.raw() - whole_.raw()) / width - index.size());
  }

 private:
  Array whole_;  ///< keeps the memory that `at_` points into alive
  const std::byte* at_ = nullptr;
};

/// Fast path for one slice of adjacent rows or one index array; nullopt for all other keys.
std::optional<Value> simple_get(const Array& a, const Value& key) {
  thread_local LastSlice last;
  thread_local std::vector<int64_t> offsets, expected;  // reused by each key
  if (a.rank() == 0) return std::nullopt;
  if (const auto* slice = key.as<SliceObject>()) {
    const SliceRange r = resolve_slice(*slice, a.shape()[0]);
    if (r.step != 1) return std::nullopt;
    Array rows = a.rows(r.start, r.start + r.count);
    last.note(a, rows);
    return rows;
  }
  const Array* index = key.as_array();
  if (index && index->dtype() == DType::boolean && index->shape() == a.shape() && a.has_elements() &&
      index->has_elements())
    return select_elements(a, *index);
  if (!index || index->rank() != 1 || !is_integer(index->dtype()) || a.size() == 0) return std::nullopt;
  Shape shape = a.shape();
  shape[0] = index->size();
  if (!a.has_elements()) return Array::unevaluated(a.dtype(), std::move(shape));
  charge_steps(index->size(), 2);
  const Rows rows(a);
  rows.pick(*index, offsets);
  rows.pick_following(*index, last.following(*index), expected);
  Array out(a.dtype(), std::move(shape));
  if (!out.has_elements()) return out;
  gather_charged(a, offsets, expected, static_cast<size_t>(rows.row()) * size_of(a.dtype()), out.mutable_raw());
  return out;
}

}  // namespace

Value array_get(Interpreter& in, const Array& a, const Value& key) {
  if (std::optional<Value> simple = simple_get(a, key)) return *std::move(simple);
  const Plan plan = plan_for(in, a, key, true);
  if (!a.has_elements()) return Array::unevaluated(a.dtype(), plan.shape);
  if (plan.offsets.size() == 1 && a.rank() > 0 && plan.offsets[0] % plan.run == 0 && a.size() % plan.run == 0) {
    // One dense run: share the buffer.
    const int64_t row = plan.offsets[0] / plan.run;
    return a.reshaped({a.size() / plan.run, plan.run}).rows(row, row + 1).reshaped(plan.shape);
  }
  Array out(a.dtype(), plan.shape);
  if (!out.has_elements()) return out;
  if (plan.window)
    copy_window(a, plan.base, plan.extents, plan.strides, plan.run, out.mutable_raw());
  else
    gather_charged(a, plan.offsets, {}, static_cast<size_t>(plan.run) * size_of(a.dtype()), out.mutable_raw());
  return out;
}

void array_set(Interpreter& in, Array& a, const Value& key, const Value& value) {
  if (mentions_tensor(value))
    throw Error("a tensor cannot be stored in an array: its values exist only when a session runs")
        .as(codes::no_value_yet);
  const Plan plan = plan_for(in, a, key, false);
  const Array given = to_array(in, value, a.dtype(), "an element of the array");
  if (!broadcastable_to(given.shape(), plan.shape)) {
    throw run_error(fmt::format("cannot assign an array of shape {} to elements of shape {}",
                                bracket_text(given.shape()), bracket_text(plan.shape)))
        .as(codes::shape);
  }
  if (!a.has_elements()) return;
  if (!given.has_elements()) {
    a = Array::unevaluated(a.dtype(), a.shape());
    return;
  }
  const size_t width = size_of(a.dtype());
  const Shape strides = strides_of(given.shape()), block = strides_of(plan.shape);
  const size_t lead = plan.shape.size() - given.shape().size();
  std::byte* to = a.mutable_raw();
  int64_t i = 0;
  for (int64_t offset : plan.offsets) {
    for (int64_t r = 0; r < plan.run; ++r, ++i) {
      int64_t from = 0;
      charge(5);
      for (size_t d = 0; d < given.shape().size(); ++d) {
        if (given.shape()[d] != 1) from += (i / block[d + lead] % plan.shape[d + lead]) * strides[d];
      }
      std::memcpy(to + static_cast<size_t>(offset + r) * width, given.raw() + static_cast<size_t>(from) * width, width);
    }
  }
}

}  // namespace pxl
