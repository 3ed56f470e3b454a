// Integer indices as kernels read them: all at once, or in pieces on several threads.
#pragma once

#include <atomic>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/indexing/index.hpp"

namespace pxl {

/// Throws an error of dtype unless the indices are integers.
inline void need_integers(const TensorSpec& indices) {
  if (!is_integer(indices.dtype))
    throw Error("indices must be integers, not " + std::string(name(indices.dtype)), {"cast them to int32"})
        .as(codes::dtype);
}

/// Reads n indices as int64: in place, or converted into the workspace.
struct Indices {
  DType dtype = DType::int64;
  int64_t count = 0;
  PerCall<int64_t> converted;
  WorkspaceLayout workspace;

  Indices() = default;
  Indices(DType d, int64_t n) : dtype(d), count(n) {
    converted = workspace.per_call<int64_t>(dtype == DType::int64 ? 0 : n);
  }
  const int64_t* read(const Buffers& b, size_t slot) const {
    if (dtype == DType::int64) return b.input<int64_t>(slot);
    int64_t* to = b.workspace(converted);
    read_indices(dtype, b.in[slot], count, to);
    return to;
  }
  /// Reads the index at `position`.
  int64_t one(const Buffers& b, size_t slot, int64_t position) const {
    int64_t value = 0;
    read_indices(dtype, b.in[slot] + position * static_cast<int64_t>(size_of(dtype)), 1, &value);
    return value;
  }
};

/// Indices that are read in pieces, checked, and wrapped: -1 is the last element. Parallel phases may not throw. They
/// keep the position of the first out-of-range index, and a last phase throws.
class CheckedIndices {
 public:
  static constexpr int64_t piece = 256;

  CheckedIndices(const TensorSpec& indices, size_t slot, int64_t axis, int64_t extent, WorkspaceLayout& workspace)
      : dtype_(indices.dtype), slot_(slot), axis_(axis), extent_(extent), first_bad_(workspace.per_call<int64_t>(1)) {
    need_integers(indices);
  }

  /// The phases to run before the first read and after the last one.
  Phase before() const {
    return {1, 1, [at = first_bad_](const Buffers& b, int64_t, int64_t) { *b.workspace(at) = none; }};
  }
  Phase after() const {
    return {1, 1, [*this](const Buffers& b, int64_t, int64_t) {
              const int64_t position = *b.workspace(first_bad_);
              if (position == none) return;
              int64_t given = 0;
              load(b, position, 1, &given);
              check_index(given, position, axis_, extent_);
            }};
  }

  /// Indices [position, position + n) in place, if they are int32 and all in [0, extent). Null for another dtype, or if
  /// an index is negative or out of range.
  const int32_t* in_place(const Buffers& b, int64_t position, int64_t n) const {
    if (dtype_ != DType::int32 || extent_ > INT32_MAX) return nullptr;
    const int32_t* given = b.input<int32_t>(slot_) + position;
    const auto last = static_cast<uint32_t>(extent_ - 1);
    uint32_t signs = 0;  // bit 31: an index is negative or beyond the last
    for (int64_t i = 0; i < n; ++i) signs |= static_cast<uint32_t>(given[i]) | (last - static_cast<uint32_t>(given[i]));
    return signs >> 31 == 0 ? given : nullptr;
  }
  /// Reads indices [position, position + n) into `to`, n <= piece. Returns false and keeps the first position if one is
  /// out of range.
  bool read(const Buffers& b, int64_t position, int64_t n, int64_t* to) const {
    if (dtype_ == DType::int32 && extent_ <= INT32_MAX && read32(b.input<int32_t>(slot_) + position, n, to))
      return true;
    load(b, position, n, to);
    bool bad = false;
    for (int64_t i = 0; i < n; ++i) {
      to[i] += to[i] < 0 ? extent_ : 0;
      bad |= is_outside(to[i]);
    }
    if (!bad) return true;
    while (!is_outside(*to)) ++to, ++position;
    std::atomic_ref<int64_t> first(*b.workspace(first_bad_));
    for (int64_t known = first; position < known && !first.compare_exchange_weak(known, position);) continue;
    return false;
  }
  /// The same without errors: an index out of range, or -1, is skipped and becomes -1.
  void read_within(const Buffers& b, int64_t position, int64_t n, int64_t* to) const {
    load(b, position, n, to);
    for (int64_t i = 0; i < n; ++i) to[i] = is_outside(to[i]) ? -1 : to[i];
  }

 private:
  static constexpr int64_t none = INT64_MAX;
  /// The same in 32 bits, which vectors hold more of. Returns false if an index is out of range; `to` is then
  /// undefined.
  bool read32(const int32_t* given, int64_t n, int64_t* to) const {
    const auto extent = static_cast<uint32_t>(extent_);
    uint32_t signs = 0;  // bit 31: an index is negative or beyond the last
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t v = static_cast<uint32_t>(given[i]) + (given[i] < 0 ? extent : 0);
      signs |= v | (extent - 1 - v);
      to[i] = static_cast<int32_t>(v);
    }
    return signs >> 31 == 0;
  }
  bool is_outside(int64_t i) const { return static_cast<uint64_t>(i) >= static_cast<uint64_t>(extent_); }
  void load(const Buffers& b, int64_t position, int64_t n, int64_t* to) const {
    read_indices(dtype_, b.in[slot_] + position * static_cast<int64_t>(size_of(dtype_)), n, to);
  }

  DType dtype_;
  size_t slot_;
  int64_t axis_, extent_;
  PerCall<int64_t> first_bad_;
};

/// data [batches, outer, extent, inner], indices [batches, count], gathered [batches, outer, count, inner].
struct Gather {
  int64_t batches = 1, outer = 1, extent = 1, inner = 1, count = 1, axis = 0;
  Indices index;

  Gather(const Shape& data, const TensorSpec& indices, int64_t at, int64_t batch) {
    need_integers(indices);
    axis = normalise_axis(at, static_cast<int64_t>(data.size()));
    if (batch < 0 || batch > axis || batch > static_cast<int64_t>(indices.shape.size())) {
      throw Error("gather shares " + std::to_string(batch) + " axes before axis " + std::to_string(axis))
          .as(codes::shape);
    }
    for (size_t d = 0; d < data.size(); ++d) {
      const int64_t i = static_cast<int64_t>(d);
      (i < batch ? batches : i < axis ? outer : i == axis ? extent : inner) *= data[d];
    }
    for (size_t d = 0; d < indices.shape.size(); ++d) {
      if (static_cast<int64_t>(d) >= batch)
        count *= indices.shape[d];
      else if (indices.shape[d] != data[d])
        throw Error("gather: axis " + std::to_string(d) + " of data and indices differ").as(codes::shape);
    }
    index = Indices(indices.dtype, batches * count);
  }
  /// Calls f(element offset in data or -1 if out of range, offset in the gathered tensor), for rows of `inner`
  /// elements.
  template <class F>
  void each(const Buffers& buffers, bool ignore, F&& f) const {
    const int64_t* at = index.read(buffers, 1);
    for (int64_t b = 0; b < batches; ++b) {
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t j = 0; j < count; ++j) {
          const int64_t given = at[b * count + j], row = b * outer + o;
          const int64_t i = ignore ? given : wrapped_index(given, b * count + j, axis, extent);
          const bool bad = i < 0 || i >= extent;
          f(bad ? -1 : (row * extent + i) * inner, (row * count + j) * inner);
        }
      }
    }
  }
};

/// Calls f(type) with the unsigned type that has `width` bytes. Elements are moved as this type.
template <class F>
void with_width(size_t width, F&& f) {
  switch (width) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

}  // namespace pxl
