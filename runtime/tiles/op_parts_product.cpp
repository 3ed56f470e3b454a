// Partitions of matrix products. Tile ((g rows + r) depth + d) columns + c computes part (g, r, d, c).
#include "runtime/ops/table.hpp"
#include "runtime/tiles/op_parts.hpp"

namespace pxl::tiles {

namespace {

/// The operands and the result as matrices of groups.
struct Matrices {
  int64_t groups = 1, rows = 1, depth = 1, columns = 1;
  bool a_groups = false, b_groups = false;  ///< whether the operand has the groups, or one matrix for all
};

std::optional<Matrices> matrices_of(const Shape& a, const Shape& b) {
  Matrices m;
  m.depth = a.back();
  if (b.size() >= 2) m.columns = b.back();
  const auto leading = [](const Shape& s) { return Shape(s.begin(), s.end() - std::min<ptrdiff_t>(2, std::ssize(s))); };
  if (b.size() <= 2) {
    m.rows = element_count(a) / m.depth;
    return m;
  }
  if (a.size() > 2 && leading(a) != leading(b)) return std::nullopt;
  m.groups = element_count(leading(b));
  m.a_groups = a.size() > 2;
  m.b_groups = true;
  if (a.size() >= 2) m.rows = a.end()[-2];
  return m;
}

}  // namespace

std::optional<OpParts> product_parts(const PartsRequest& r) {
  const OpContext& s = r.site;
  if (!r.candidate.product || s.out[0].size() == 0 || s.input(0).size() == 0) return std::nullopt;
  const ProductCut& cut = *r.candidate.product;
  const std::optional<Matrices> found = matrices_of(s.input(0).shape, s.input(1).shape);
  if (!found) return std::nullopt;
  const Matrices& m = *found;
  OpParts parts;
  const int64_t steps = cut.serial * cut.shifts;
  parts.steps.resize(static_cast<size_t>(steps));
  if (cut.depth * cut.shifts > 1) {
    const int64_t bytes = product_partial_bytes(r.options, product_bytes(r.machine, s.input(0)));
    DType dtype = s.out[0].dtype;
    if (is_floating(dtype) && size_of(dtype) <= 4) dtype = bytes == 2 ? DType::float16 : DType::float32;
    parts.partial = PartialResults{&get_op("sum"), dtype};
  }
  const auto add = [&](int64_t step, int32_t tile, ElementRange g, ElementRange row, ElementRange d, ElementRange c) {
    if (g.size() == 0 || row.size() == 0 || d.size() == 0 || c.size() == 0) return;
    Part part{.tile = tile};
    const ElementRange one{0, 1}, ga = m.a_groups ? g : one, gb = m.b_groups ? g : one;
    part.reads.push_back({0,
                          Region::box({m.a_groups ? m.groups : 1, m.rows, m.depth}, {ga, row, d}),
                          {ga.size(), row.size(), d.size()}});
    part.reads.push_back(
        {1, Region::box({m.b_groups ? m.groups : 1, m.depth, m.columns}, {gb, d, c}), {gb.size(), d.size(), c.size()}});
    for (size_t i = 2; i < s.in.size(); ++i)
      if (s.in[i]) part.reads.push_back({i, Region::all(s.in[i]->size()), s.in[i]->shape});
    part.writes.push_back(
        {0, false, Region::box({m.groups, m.rows, m.columns}, {g, row, c}), {g.size(), row.size(), c.size()}});
    parts.steps[static_cast<size_t>(step)].push_back(std::move(part));
  };
  int64_t tile = 0;
  for (int64_t g = 0; g < cut.groups; ++g)
    for (int64_t row = 0; row < cut.rows; ++row)
      for (int64_t d = 0; d < cut.depth; ++d)
        for (int64_t c = 0; c < cut.columns; ++c, ++tile) {
          const ElementRange groups = part_of(m.groups, cut.groups, g), rows = part_of(m.rows, cut.rows, row),
                             depth = part_of(m.depth, cut.depth, d), columns = part_of(m.columns, cut.columns, c);
          for (int64_t step = 0; step < steps; ++step) {
            // Tiles of a ring begin at different pieces, so that each piece is on one of them.
            const int64_t piece = (step % cut.shifts + (cut.shift_a ? c : 0) + (cut.shift_b ? row : 0)) % cut.shifts;
            ElementRange chunk = part_of(depth.size(), cut.shifts, piece),
                         serial = part_of(columns.size(), cut.serial, step / cut.shifts);
            chunk = {depth.begin + chunk.begin, depth.begin + chunk.end};
            serial = {columns.begin + serial.begin, columns.begin + serial.end};
            add(step, static_cast<int32_t>(tile % r.machine.tiles), groups, rows, chunk, serial);
          }
        }
  return parts;
}

}  // namespace pxl::tiles
