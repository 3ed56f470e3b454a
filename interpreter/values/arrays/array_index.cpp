// NumPy's indexing of host arrays. Reading and writing are one loop each over the offsets that a key selects.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "interpreter/values/arrays/array_copies.hpp"
#include "interpreter/values/arrays/array_key.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/kernels/indexing/index.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

/// The rows of an array, as offsets in it.
class Rows {
 public:
  explicit Rows(const Array& a) : extent_(a.shape()[0]), row_(a.size() / extent_) {}

  int64_t row() const { return row_; }  ///< number of elements in a row
  /// Converts the positions in an index to offsets. Negative positions count from the end.
  void pick(const Array& index, std::vector<int64_t>& offsets) const {
    offsets.resize(static_cast<size_t>(index.size()));
    int64_t* to = offsets.data();
    each(index, 0, index.size(), [&](int64_t at) {
      if (at < 0 || at >= extent_) at = wrap_index(at, extent_, "axis 0", index_text(at));
      *to++ = at * row_;
    });
  }
  /// Offsets of the `count` positions after the index in memory, if they are valid rows.
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
        // A position outside int64 is beyond every extent.
        for (int64_t i = begin; i < end; ++i)
          f(std::in_range<int64_t>(data[i]) ? static_cast<int64_t>(data[i]) : INT64_MAX);
      }
    });
  }

  int64_t extent_, row_;
};

/// Remembers the last slice of positions that was used. A loop over shuffled positions selects rows by consecutive
/// slices. The rows of the next slice are therefore prefetched.
class LastSlice {
 public:
  void note(const Array& whole, const Array& slice) {
    if (slice.rank() != 1 || !is_integer(slice.dtype()) || !whole.has_elements()) return;
    if (whole.raw() != whole_.raw() || whole.size() != whole_.size() || whole.dtype() != whole_.dtype()) whole_ = whole;
    at_ = slice.raw();
  }

  /// The number of positions after `index`, at most as many as it has; 0 if `index` is not the last slice.
  int64_t following(const Array& index) const {
    if (index.raw() != at_ || index.dtype() != whole_.dtype()) return 0;
    const auto width = static_cast<int64_t>(size_of(index.dtype()));
    return std::min(index.size(), whole_.size() - (index.raw() - whole_.raw()) / width - index.size());
  }

 private:
  Array whole_;  ///< keeps alive the memory into which `at_` points
  const std::byte* at_ = nullptr;
};

/// Fast path for one slice of adjacent rows or one index array; nullopt for all other keys.
std::optional<Value> simple_get(const Array& a, const Value& key) {
  struct Reused {  // vectors that each key uses again
    LastSlice last;
    std::vector<int64_t> offsets, expected;
  };
  auto& [last, offsets, expected] = of_thread<Reused>();
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
  const GatherOffsets selected = gather_offsets(in, a, key, true);
  if (!a.has_elements()) return Array::unevaluated(a.dtype(), selected.shape);
  if (selected.offsets.size() == 1 && a.rank() > 0 && selected.offsets[0] % selected.run == 0 &&
      a.size() % selected.run == 0) {
    // The selection is one dense run, so it shares the buffer.
    const int64_t row = selected.offsets[0] / selected.run;
    return a.reshaped({a.size() / selected.run, selected.run}).rows(row, row + 1).reshaped(selected.shape);
  }
  Array out(a.dtype(), selected.shape);
  if (!out.has_elements()) return out;
  if (selected.window)
    copy_window(a, selected.base, selected.extents, selected.strides, selected.run, out.mutable_raw());
  else
    gather_charged(a, selected.offsets, {}, static_cast<size_t>(selected.run) * size_of(a.dtype()), out.mutable_raw());
  return out;
}

void array_set(Interpreter& in, Array& a, const Value& key, const Value& value) {
  if (mentions_tensor(value))
    throw Error("a tensor cannot be stored in an array: its values exist only when a session runs",
                {"`stack(a, b, axis = 0)` joins tensors along a new axis"})
        .as(codes::no_value_yet);
  const GatherOffsets selected = gather_offsets(in, a, key, false);
  const Array given = to_array(in, value, a.dtype(), "an element of the array");
  if (!broadcastable_to(given.shape(), selected.shape)) {
    throw run_error(fmt::format("cannot assign an array of shape {} to elements of shape {}",
                                bracket_text(given.shape()), bracket_text(selected.shape)))
        .as(codes::shape);
  }
  if (!a.has_elements()) return;
  if (!given.has_elements()) {
    a = Array::unevaluated(a.dtype(), a.shape());
    return;
  }
  const size_t width = size_of(a.dtype());
  const Shape strides = strides_of(given.shape()), block = strides_of(selected.shape);
  const size_t lead = selected.shape.size() - given.shape().size();
  std::byte* to = a.mutable_raw();
  int64_t i = 0;
  for (int64_t offset : selected.offsets) {
    for (int64_t r = 0; r < selected.run; ++r, ++i) {
      int64_t from = 0;
      charge(5);
      for (size_t d = 0; d < given.shape().size(); ++d) {
        if (given.shape()[d] != 1) from += (i / block[d + lead] % selected.shape[d + lead]) * strides[d];
      }
      std::memcpy(to + static_cast<size_t>(offset + r) * width, given.raw() + static_cast<size_t>(from) * width, width);
    }
  }
}

}  // namespace pxl
