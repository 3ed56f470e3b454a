// Each part of a key is converted to a list of positions on a source axis. Index arrays and masks broadcast as in
// NumPy; their axes come first unless they are adjacent.
#include "interpreter/values/arrays/array_key.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/subscripts.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/kernels/indexing/index.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

struct Axis {
  int64_t stride = 0;  ///< stride in the source, in elements
  int64_t start = 0, step = 1, count = 1;
  bool dropped = false;   ///< the key is an int
  bool fresh = false;     ///< the key is none: a new axis
  bool advanced = false;  ///< the key is an index array
  Array positions;        ///< positions as int64, for an index array only
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

// Converts a list that is used as a key to an index array.
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

// The positions of a mask's true elements, as one array per axis.
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

/// The number of axes that the parts of a key select from; those of `...` are not counted.
int64_t selected_axes(Interpreter& in, const Array& a, const std::vector<Value>& parts) {
  int64_t used = 0;
  for (const Value& p : parts) {
    if (p.as<EllipsisObject>() || p.is_none()) continue;
    const std::optional<Array> index = index_array(in, p);
    used += index && index->dtype() == DType::boolean ? index->rank() : 1;
  }
  if (used > a.rank())
    throw run_error(fmt::format("too many subscripts: {} for an array of shape {}", used, bracket_text(a.shape())))
        .as(codes::index);
  return used;
}

/// The positions that an index array selects, for each axis of `a` from `at`. They may be negative or out of range.
std::vector<Array> positions_of(const Array& index, const Array& a, size_t at) {
  if (index.dtype() == DType::boolean) {
    for (size_t d = 0; d < index.shape().size(); ++d)
      if (index.shape()[d] != a.shape()[at + d])
        throw run_error(fmt::format("a mask of shape {} does not fit an array of shape {}", bracket_text(index.shape()),
                                    bracket_text(a.shape())))
            .as(codes::index);
    return nonzero(index);
  }
  if (!is_integer(index.dtype()))
    throw Error(fmt::format("an index array needs ints or bools, not {}", name(index.dtype()))).as(codes::index);
  return {convert_exactly(index, DType::int64, "an index", codes::index)};
}

/// Makes positions on axis `at` count from its beginning; throws if one is out of range.
void wrap_positions(Array& positions, int64_t extent, size_t at) {
  auto* to = positions.mutable_data<int64_t>();
  charge_steps(positions.size(), 2);
  for (int64_t i = 0; i < positions.size(); ++i)
    if (to[i] < 0 || to[i] >= extent) to[i] = wrap_index(to[i], extent, fmt::format("axis {}", at), index_text(to[i]));
}

/// The axis that an int or a slice selects from axis `at`.
Axis plain_axis(const Value& p, int64_t stride, int64_t extent, size_t at) {
  Axis axis;
  axis.stride = stride;
  if (auto* s = p.as<SliceObject>()) {
    const SliceRange r = resolve_slice(*s, extent);
    axis.start = r.start;
    axis.step = r.step;
    axis.count = r.count;
  } else if (p.is_int() || p.as_array()) {
    axis.start = wrap_index(to_index(p, "index"), extent, fmt::format("axis {}", at));
    axis.dropped = true;
  } else {
    bad_key(p);
  }
  return axis;
}

std::vector<Axis> read_key(Interpreter& in, const Array& a, const Value& key) {
  std::vector<Value> parts = parts_of(key);
  const auto ellipses = std::ranges::count_if(parts, [](const Value& p) { return p.as<EllipsisObject>() != nullptr; });
  if (ellipses > 1) throw Error("an index can hold only one `...`").as(codes::index);
  const int64_t used = selected_axes(in, a, parts);
  if (!ellipses) parts.push_back(make_ref<EllipsisObject>());

  const Shape strides = strides_of(a.shape());
  std::vector<Axis> axes;
  size_t at = 0;
  for (const Value& p : parts) {
    if (p.as<EllipsisObject>()) {
      for (int64_t i = a.rank() - used; i > 0; --i, ++at)
        axes.push_back({.stride = strides[at], .count = a.shape()[at], .positions = {}});
    } else if (p.is_none()) {
      axes.push_back({.fresh = true, .positions = {}});
    } else if (const std::optional<Array> index = index_array(in, p)) {
      for (Array& positions : positions_of(*index, a, at)) {
        wrap_positions(positions, a.shape()[at], at);
        axes.push_back({.stride = strides[at], .advanced = true, .positions = std::move(positions)});
        ++at;
      }
    } else {
      axes.push_back(plain_axis(p, strides[at], a.shape()[at], at));
      ++at;
    }
  }
  return axes;
}

/// The block of loop dimensions that all index arrays of a key share.
struct IndexBlock {
  Shape shape;
  size_t first = 0, last = 0, count = 0;  ///< the axes with index arrays
  std::vector<int64_t> offsets;           ///< of each of the block's places, flattened

  /// The block is in the arrays' position; otherwise it comes first.
  bool is_adjacent() const { return count > 0 && last - first + 1 == count; }

  explicit IndexBlock(const std::vector<Axis>& axes) : first(axes.size()) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!axes[i].advanced) continue;
      shape = count == 0 ? axes[i].positions.shape() : broadcast(shape, axes[i].positions.shape());
      first = std::min(first, i);
      last = i;
      ++count;
    }
    if (count == 0) return;
    offsets.assign(static_cast<size_t>(element_count(shape)), 0);
    for (const Axis& axis : axes)
      if (axis.advanced) add(axis);
  }

 private:
  /// Broadcasts an axis' positions to the block's shape, and adds their offsets.
  void add(const Axis& axis) {
    const Shape own = axis.positions.shape();
    const Shape own_strides = strides_of(own);
    const Shape block = strides_of(shape);
    const auto* from = axis.positions.data<int64_t>();
    for (int64_t i = 0; i < std::ssize(offsets); ++i) {
      charge(5);
      int64_t at = 0;
      for (size_t d = 0; d < own.size(); ++d) {
        const size_t b = d + shape.size() - own.size();
        if (own[d] != 1) at += (i / block[b] % shape[b]) * own_strides[d];
      }
      offsets[static_cast<size_t>(i)] += from[at] * axis.stride;
    }
  }
};

}  // namespace

GatherOffsets gather_offsets(Interpreter& in, const Array& a, const Value& key, bool windows) {
  const std::vector<Axis> axes = read_key(in, a, key);
  const IndexBlock block(axes);
  GatherOffsets result;
  int64_t base = 0;
  struct Dim {
    int64_t count, stride;
    const std::vector<int64_t>* table;
  };
  std::vector<Dim> dims;  // one for each axis, and one for the index arrays
  auto add_block = [&] {
    result.shape.insert(result.shape.end(), block.shape.begin(), block.shape.end());
    dims.push_back({std::ssize(block.offsets), 0, &block.offsets});
  };
  if (block.count && !block.is_adjacent()) add_block();
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = axes[i];
    if (axis.advanced) {
      if (block.is_adjacent() && i == block.first) add_block();
      continue;
    }
    if (axis.fresh) {
      result.shape.push_back(1);
      continue;
    }
    base += axis.start * axis.stride;
    if (axis.dropped) continue;
    result.shape.push_back(axis.count);
    dims.push_back({axis.count, axis.step * axis.stride, nullptr});
  }
  if (!a.has_elements()) return result;
  // Trailing dimensions that are contiguous in memory form one run.
  while (!dims.empty() && !dims.back().table && (dims.back().stride == result.run || dims.back().count == 1)) {
    result.run *= dims.back().count;
    dims.pop_back();
  }
  result.window = windows && block.count == 0 && !dims.empty();
  if (result.window) {
    result.base = base;
    for (const Dim& d : dims) {
      result.extents.push_back(d.count);
      result.strides.push_back(d.stride);
    }
    return result;
  }
  if (element_count(result.shape) / std::max<int64_t>(result.run, 1) > (int64_t{1} << 31)) {
    throw run_error(fmt::format("the selection of shape {} is too large", bracket_text(result.shape)))
        .as(codes::memory);
  }
  result.offsets.assign(1, base);
  for (const Dim& d : dims) {
    std::vector<int64_t> next;
    next.reserve(result.offsets.size() * static_cast<size_t>(d.count));
    for (int64_t offset : result.offsets) {
      for (int64_t i = 0; i < d.count; ++i) {
        charge(2);
        next.push_back(offset + (d.table ? (*d.table)[static_cast<size_t>(i)] : i * d.stride));
      }
    }
    result.offsets = std::move(next);
  }
  if (result.run == 0 || element_count(result.shape) == 0) result.offsets.clear();
  return result;
}

}  // namespace pxl
