// Candidates of pooling and its gradients: windows partitioned by batch, channels and the leading spatial axis.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/tiles/candidates/strategies.hpp"
#include "runtime/tiles/cuts/given_cut.hpp"
#include "runtime/tiles/parts/receptive_field.hpp"

namespace pxl::tiles {

void enumerate_pooling(const CandidateRequest& r) {
  const Machine& m = r.machine;
  const OpContext& s = r.site;
  const TensorSpec& y = s.out[0];
  SlidingWindows w;
  // Gradients write what windows read; gradients of maxima also read it.
  w.to = spatial(y.shape);
  w.from = spatial(s.input(0).shape);
  const size_t axes = w.to.size();
  w.kernel = per_axis(s, "kernel_size", axes, 1);
  w.stride = per_axis(s, "stride", axes, 1);
  w.dilation = per_axis(s, "dilation", axes, 1);
  int64_t read = 1, given = 1;
  for (size_t i = 0; i < axes; ++i)
    read = saturating_product(read, w.from[i]), given = saturating_product(given, w.to[i]);
  w.transposed = given > read;
  if (axes == 0) return enumerate_as_binary(r);
  const int64_t size = element_bytes(y), kernel = w.kernel_size();
  // Partitions that keep groups of channels together come first, then the partitions of the operand's producer.
  struct Partition {
    int64_t batch, channels, first;
    bool operator==(const Partition&) const = default;
  };
  std::vector<Partition> partitions;
  const auto offer = [&](const Partition& p) {
    if (p.batch * p.channels * p.first <= m.tiles &&
        std::find(partitions.begin(), partitions.end(), p) == partitions.end())
      partitions.push_back(p);
  };
  const int64_t line = with_channel_groups(block_mapping(y, {1, 1, 1}), y.shape).group;
  const int64_t visited = std::min(line, 2 * m.vector_elements(size));  // channels that the vertex visits together
  const bool is_given = r.given && r.given->has_mappings();
  if (is_given)
    for (const int32_t id : r.offered(y)) {
      const std::vector<int32_t>& parts = r.pool.table.at(id).parts;
      if (!parts.empty()) offer({parts[0], parts[1], parts[2]});
    }
  for (const int64_t first : is_given ? std::vector<int64_t>{} : partition_counts(w.to[0], 1, m.tiles)) {
    const int64_t batch = std::min(y.shape[0], std::max<int64_t>(1, m.tiles / first));
    const int64_t channels = m.tiles / first / batch;
    for (const int64_t group : {line, visited})
      offer({batch, std::clamp<int64_t>(channels, 1, div_up(y.shape[1], group)), first});
    if (first == 1) offer({batch, std::clamp<int64_t>(channels, 1, y.shape[1]), first});
  }
  for (const int32_t id : is_given ? std::vector<int32_t>{} : r.pool.of(s.input(0))) {
    const TileMapping& l = r.pool.table.at(id);
    if (l.flat || l.copies > 1) continue;
    int64_t inner = 1;
    for (size_t i = 3; i < l.parts.size(); ++i) inner *= l.parts[i];
    if (inner == 1) offer({l.parts[0], l.parts[1], std::min<int64_t>(l.parts[2], w.to[0])});
  }
  for (const auto& [batch, channels, spatial_parts] : partitions) {
    std::vector<int32_t> parts(y.shape.size(), 1);
    parts[0] = static_cast<int32_t>(batch);
    parts[1] = static_cast<int32_t>(channels);
    parts[2] = static_cast<int32_t>(spatial_parts);
    const TileMapping to = with_channel_groups(block_mapping(y, parts), y.shape);
    OpCandidate candidate = r.start("by windows");
    std::vector<int64_t> block = w.to;
    block[0] = div_up(block[0], spatial_parts);
    const int64_t mine = saturating_product(div_up(y.shape[0], batch), div_up(y.shape[1], channels));
    const int64_t outputs = saturating_product(mine, element_count(block));
    // The halo of the windows is stored on neighbouring tiles.
    const int64_t own = saturating_product(mine, div_up(read, spatial_parts)),
                  all = saturating_product(mine, w.needed(block));
    Traffic rims;
    int64_t operands = 0;
    for (size_t i = 0; i < s.in.size(); ++i) {
      if (!s.in[i]) continue;
      candidate.in[i] = r.mapping(with_channel_groups(block_mapping(*s.in[i], parts), s.in[i]->shape));
      candidate.resident_bytes +=
          max_elements_per_tile(r.pool.table.at(candidate.in[i]), s.in[i]->shape) * element_bytes(*s.in[i]);
      if (++operands > 1 || spatial_parts == 1) continue;
      rims.in = rims.out = std::max<int64_t>(0, all - own) * size;
      rims.fragments = div_up(
          rims.in, std::max<int64_t>(4, w.from.back() * (to.group > 1 ? order_of(to, y.shape).count : 1) * size));
      rims.total = saturating_product(rims.in, to.tiles());
    }
    candidate.exchange(m, "rims of windows", rims);
    candidate.temp_bytes = rims.in;
    // Gradient: each window that covers an element adds to it. There are kernel / stride such windows along each axis.
    int64_t terms = kernel;
    if (w.transposed)
      for (const int64_t step : w.stride) terms = div_up(terms, step);
    candidate.compute(m, "Pooling",
                      pooling_cycles(m, div_up(y.shape[0], batch), div_up(y.shape[1], channels), element_count(block),
                                     terms, operands, size),
                      to.tiles(), {32});
    candidate.resident_bytes += outputs * size;
    candidate.out.push_back(r.mapping(to));
    for (size_t i = 1; i < s.out.size(); ++i) candidate.out.push_back(r.mapping(linear_mapping(m, s.out[i])));
    candidate.text = fmt::format("{} planes of {} windows on each of {} tiles", mine, element_count(block), to.tiles());
    r.candidates.push_back(std::move(candidate));
  }
  if (r.candidates.empty() && !is_given) enumerate_as_binary(r);
}

}  // namespace pxl::tiles
