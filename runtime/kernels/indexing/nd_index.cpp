#include "runtime/kernels/indexing/nd_index.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/threads/parallel_copy.hpp"
#include "runtime/kernels/indexing/indices.hpp"
#include "runtime/kernels/movement/strided.hpp"

namespace pxl {

namespace {

constexpr std::string_view update_names[] = {"none", "add", "mul", "max", "min"};
constexpr Binary update_functions[] = {Binary::add, Binary::add, Binary::mul, Binary::maximum, Binary::minimum};

/// Reads all positions as row numbers in t; a row has `rest` elements.
class Rows {
 public:
  Rows(const NdShapes& shapes, const TensorSpec& indices)
      : shapes_(shapes),
        depth_(static_cast<int64_t>(shapes.indexed.size())),
        count_(shapes.batches * shapes.positions),
        index_(indices.dtype, count_ * depth_),
        workspace_(index_.workspace),
        rows_(workspace_.per_call<int64_t>(count_)) {}

  int64_t count() const { return count_; }
  const WorkspaceLayout& workspace() const { return workspace_; }
  const int64_t* found(const Buffers& b) const { return b.workspace(rows_); }

  /// A phase with one iteration, which throws if an index is out of range.
  Phase phase() const {
    return {1, 1, [*this](const Buffers& b, int64_t, int64_t) {
              const int64_t* at = index_.read(b, 1);
              int64_t* to = b.workspace(rows_);
              for (int64_t i = 0; i < count_; ++i) {
                int64_t row = shapes_.positions == 0 ? 0 : i / shapes_.positions;
                for (int64_t d = 0; d < depth_; ++d) {
                  const int64_t extent = shapes_.indexed[static_cast<size_t>(d)], place = i * depth_ + d;
                  row = row * extent + wrapped_index(at[place], place, shapes_.first_axis + d, extent);
                }
                to[i] = row;
              }
            }};
  }

 private:
  NdShapes shapes_;
  int64_t depth_, count_;
  Indices index_;
  WorkspaceLayout workspace_;
  PerCall<int64_t> rows_;
};

}  // namespace

NdShapes::NdShapes(const Shape& t, const Shape& indices, int64_t batch) : first_axis(batch) {
  const auto refuse = [](const std::string& why) { throw Error(why).as(codes::shape); };
  if (indices.empty()) refuse("indices need an axis of positions, but are a scalar");
  const int64_t rank = std::ssize(t), depth = indices.back();
  if (batch < 0 || batch >= std::ssize(indices) || batch > rank)
    refuse(fmt::format("{} and {} cannot share {} axes", bracket_text(t), bracket_text(indices), batch));
  if (depth < 1 || batch + depth > rank)
    refuse(fmt::format("a position of {} indices does not fit the {} axes{} of {}", depth, rank - batch,
                       batch == 0 ? "" : " that are not shared", bracket_text(t)));
  for (int64_t i = 0; i < batch; ++i) {
    const auto d = static_cast<size_t>(i);
    if (t[d] != indices[d])
      refuse(fmt::format("the shared axis {} has {} elements in {} and {} in the indices {}", i, t[d], bracket_text(t),
                         indices[d], bracket_text(indices)));
    batches *= t[d];
  }
  elements.assign(indices.begin(), indices.end() - 1);
  for (size_t d = static_cast<size_t>(batch); d + 1 < indices.size(); ++d) positions *= indices[d];
  indexed.assign(t.begin() + batch, t.begin() + batch + depth);
  for (auto d = t.begin() + batch + depth; d != t.end(); ++d) {
    rest *= *d;
    elements.push_back(*d);
  }
}

std::optional<NdUpdate> nd_update(std::string_view name) {
  const auto found = std::find(std::begin(update_names), std::end(update_names), name);
  if (found == std::end(update_names)) return {};
  return static_cast<NdUpdate>(found - std::begin(update_names));
}
std::span<const std::string_view> nd_update_names() { return update_names; }

Kernel gather_nd_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t batch) {
  need_integers(indices);
  const NdShapes shapes(t.shape, indices.shape, batch);
  const auto bytes = static_cast<int64_t>(size_of(t.dtype)) * shapes.rest;
  const Rows rows(shapes, indices);
  if (rows.count() * bytes == 0) return [](const Buffers&) {};
  const auto copy = [=](const Buffers& b, int64_t begin, int64_t end) {
    const int64_t* at = rows.found(b);
    for (int64_t i = begin; i < end; ++i)
      copy_bytes(b.out[0] + i * bytes, b.in[0] + at[i] * bytes, static_cast<size_t>(bytes));
  };
  const double cost_ns = static_cast<double>(rows.count()) * (4 + copy_ns_per_byte * static_cast<double>(bytes));
  return Kernel::parallel({rows.phase(), {rows.count(), 1 + 4096 / bytes, copy}}, cost_ns)
      .with_workspace(rows.workspace());
}

Kernel scatter_nd_kernel(const TensorSpec& t, const TensorSpec& indices, int64_t batch, NdUpdate update) {
  need_integers(indices);
  const NdShapes shapes(t.shape, indices.shape, batch);
  const auto width = static_cast<int64_t>(size_of(t.dtype)), all = t.bytes();
  const Rows rows(shapes, indices);
  const BinaryFn combine =
      update == NdUpdate::none ? nullptr : binary_block(update_functions[static_cast<size_t>(update)], t.dtype).vv;
  constexpr int64_t copied = 1 << 16;  // bytes of a chunk
  const auto copy = [=](const Buffers& b, int64_t begin, int64_t end) {
    if (b.out[0] == b.in[0]) return;
    const int64_t first = begin * copied, last = std::min(end * copied, all);
    copy_bytes(b.out[0] + first, b.in[0] + first, static_cast<size_t>(last - first));
  };
  // One thread owns some columns of the rest, and processes all positions in order.
  constexpr int64_t columns = 1024;
  const int64_t blocks = (shapes.rest + columns - 1) / columns;
  const auto write = [=, rest = shapes.rest](const Buffers& b, int64_t begin, int64_t end) {
    const int64_t* at = rows.found(b);
    const int64_t first = begin * columns, n = std::min(end * columns, rest) - first;
    for (int64_t i = 0; i < rows.count(); ++i) {
      std::byte* to = b.out[0] + (at[i] * rest + first) * width;
      const std::byte* from = b.in[2] + (i * rest + first) * width;
      if (combine)
        combine(to, from, to, n);
      else
        copy_bytes(to, from, static_cast<size_t>(n * width));
    }
  };
  std::vector<Phase> phases;
  const bool writes = rows.count() * shapes.rest > 0;
  if (writes) phases.push_back(rows.phase());
  if (all > 0) phases.push_back({(all + copied - 1) / copied, 1, copy});
  if (writes) phases.push_back({blocks, 1, write});
  if (phases.empty()) return [](const Buffers&) {};
  const double cost_ns =
      0.1 * static_cast<double>(all) + static_cast<double>(rows.count()) * (4 + 0.3 * static_cast<double>(shapes.rest));
  return Kernel::parallel(std::move(phases), cost_ns).with_workspace(rows.workspace());
}

}  // namespace pxl
