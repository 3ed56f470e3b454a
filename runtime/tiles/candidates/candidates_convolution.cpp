// Candidates of convolutions: partitions of groups, batch, the leading spatial axis, input and output channels. One
// exchange gathers shared operand slices and halos.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/text/join_texts.hpp"
#include "runtime/tiles/candidates/partition.hpp"
#include "runtime/tiles/candidates/strategies.hpp"
#include "runtime/tiles/cuts/given_cut.hpp"
#include "runtime/tiles/parts/receptive_field.hpp"

namespace pxl::tiles {

namespace {

/// Channels that the units read together. The channels are adjacent in a line of the field.
constexpr int64_t line_channels = 16;

enum class ConvolutionKind : uint8_t { forward, data_gradient, weight_gradient };

/// The three convolutions as sums. The sums run over `depth` channels and kernel elements, or over windows for the
/// weight gradient. Results have `columns` channels.
struct ConvolutionProblem {
  ConvolutionKind kind = ConvolutionKind::forward;
  int64_t groups = 1, batch = 1, depth = 1, columns = 1;  ///< depth, columns: channels of one group
  SlidingWindows windows;
  bool weights = false;  ///< weight gradient
  int64_t operand_bytes = 4, partial_bytes = 4, out_bytes = 4;
  bool widened = false;  ///< float8 operands, widened to float16 first
  const TensorSpec* bias = nullptr;
};

ConvolutionProblem convolution_problem(const CandidateRequest& r, ConvolutionKind kind) {
  const OpContext& s = r.site;
  const TensorSpec &a = s.input(0), &b = s.input(1), &y = s.out[0];
  ConvolutionProblem p;
  p.kind = kind;
  const bool conv = kind == ConvolutionKind::forward;
  p.weights = kind == ConvolutionKind::weight_gradient;
  p.operand_bytes = product_bytes(r.machine, a);
  p.partial_bytes = product_partial_bytes(r.options, p.operand_bytes);
  p.widened = is_float8(a.dtype) && p.operand_bytes > 1;
  p.out_bytes = element_bytes(y);
  if (s.has(2) && !s.input(2).shape.empty()) p.bias = s.in[2];
  p.groups = std::max<int64_t>(1, per_axis(s, "groups", 1, 1)[0]);
  p.batch = std::max<int64_t>(1, a.shape[0]);
  // The weights of all three kinds are [output channels, input channels, kernel] of the forward convolution.
  const TensorSpec& weight = p.weights ? y : b;
  const int64_t give = std::max<int64_t>(1, weight.shape[0] / p.groups), read = std::max<int64_t>(1, weight.shape[1]);
  p.depth = conv ? read : give;
  p.columns = conv ? give : read;
  p.windows.transposed = !conv && !p.weights;
  p.windows.from = spatial(p.weights ? b.shape : a.shape);
  p.windows.to = spatial(p.weights ? a.shape : y.shape);
  p.windows.kernel = spatial(weight.shape);
  p.windows.stride = per_axis(s, "stride", p.windows.kernel.size(), 1);
  p.windows.dilation = per_axis(s, "dilation", p.windows.kernel.size(), 1);
  return p;
}

struct ConvolutionBlock {
  int64_t groups, batch, depth, columns;
  std::vector<int64_t> field;
};

ConvolutionBlock block_of(const ConvolutionProblem& p, const ConvolutionCut& c) {
  ConvolutionBlock b{div_up(p.groups, c.groups), div_up(p.batch, c.batch), div_up(p.depth, c.depth),
                     div_up(p.columns, c.columns), p.windows.to};
  if (!b.field.empty()) b.field[0] = div_up(std::max<int64_t>(1, b.field[0]), c.first);
  return b;
}

/// A way to compute a block: a change of order on the tile, then a vertex.
struct ConvolutionWay {
  std::string_view vertex;
  int64_t reordering = 0, cycles = 0, copied = 0;  ///< copied: bytes that the change of order writes
  VertexState state = {};
  int64_t total() const { return reordering + cycles; }
};

/// Calls f(n) for numbers of groups that one product may combine: its coefficients are zero between groups (PopLibs:
/// combineConvGroups).
template <class F>
void for_combined_groups(const ConvolutionBlock& b, F&& f) {
  f(1);
  for (int64_t n = 2; n <= b.groups && n * b.depth <= line_channels; n *= 2) f(n);
}

/// The ways of the weight gradient. The streamed rows are the kernel elements of all input channels, the sums run over
/// windows. The units read the terms of a sum side by side, but data is stored by channels, so the tile transposes the
/// windows of each kernel element. Windows are padded to whole loads, channels to the grain of the transposition.
template <class F>
void for_ways_of_weights(const Machine& m, const ConvolutionProblem& p, const ConvolutionBlock& b, int64_t windows,
                         F&& f) {
  const int64_t kernel = p.windows.kernel_size(), grain = product_depth_grain(p.operand_bytes);
  const int64_t depth = div_up(windows, grain) * grain;
  const auto transposed = [&](int64_t channels) {
    const int64_t line = div_up(std::min(channels, line_channels), 4) * 4;
    return transpose_cycles(m, div_up(channels, line_channels), depth, line, p.operand_bytes);
  };
  const int64_t rows = saturating_product(b.columns, kernel), lines = saturating_product(b.groups, rows);
  const int64_t copied = saturating_product(lines, depth) * p.operand_bytes;
  for_combined_groups(b, [&](int64_t n) {
    ProductShape one{div_up(b.groups, n), saturating_product(rows, n), depth, b.depth * n, p.operand_bytes,
                     p.partial_bytes};
    ProductShape other = one;
    std::swap(other.rows, other.columns);
    for (const ProductShape& shape : {one, other}) {
      const ProductCost cost = product_cycles(m, shape);
      f(ConvolutionWay{vertex_name(cost.vertex), transposed(lines) + transposed(b.groups * b.depth), cost.cycles,
                       copied, amp_state(m, shape)});
    }
  });
  if (b.depth == 1 && b.columns == 1 && m.block_rows == 0)
    f(ConvolutionWay{"ConvPartialVerticalMac", 0,
                     vertical_mac_cycles(m, b.groups, windows, kernel / p.windows.kernel.back(),
                                         p.windows.kernel.back(), p.operand_bytes)});
}

/// The ways of a convolution and its data gradient. The trailing axes of the kernel may be folded into the channels:
/// the tile copies the elements of a window side by side, and the unit iterates over the other kernel elements.
template <class F>
void for_ways(const Machine& m, const ConvolutionProblem& p, const ConvolutionBlock& b, int64_t windows, F&& f) {
  if (p.weights) return for_ways_of_weights(m, p, b, windows, f);
  const int64_t width = b.field.empty() ? 1 : std::max<int64_t>(1, b.field.back());
  const int64_t atom = atom_bytes(std::min(b.depth, line_channels) * p.operand_bytes);
  for_combined_groups(b, [&](int64_t n) {
    int64_t folded = 1;
    for (size_t axis = p.windows.kernel.size() + 1; axis-- > 0;) {
      const int64_t extent = axis < p.windows.kernel.size() ? p.windows.kernel[axis] : 1;
      if (extent == 1 && axis < p.windows.kernel.size()) continue;
      folded = saturating_product(folded, extent);
      ConvolutionShape shape;
      shape.product = {div_up(b.groups, n), windows,         saturating_product(b.depth * n, folded),
                       b.columns * n,       p.operand_bytes, p.partial_bytes};
      shape.lines = std::max<int64_t>(1, windows / width);
      shape.kernel = p.windows.kernel_size() / folded;
      const int64_t copied =
          folded == 1 ? 0
                      : saturating_product(saturating_product(b.groups, windows), b.depth * folded) * p.operand_bytes;
      if (copied > m.memory / 2) continue;
      const VertexState state = amp_state(m, shape.product);
      const int64_t reordering = reorder_cycles(m, copied, atom);
      if (shape.kernel == 1) {
        const ProductCost cost = product_cycles(m, shape.product);
        f(ConvolutionWay{vertex_name(cost.vertex), reordering, cost.cycles, copied, state});
      } else {
        f(ConvolutionWay{"ConvPartialnx1",
                         reordering,
                         convolution_cycles(m, shape),
                         copied,
                         {state.fields, state.lists + 8 * shape.kernel}});
      }
    }
  });
  // The vertex takes no zeros between elements, which the data gradient of a stride would need: an assumption.
  const bool has_gaps = p.windows.transposed && *std::max_element(p.windows.stride.begin(), p.windows.stride.end()) > 1;
  if (b.depth == 1 && b.columns == 1 && m.block_rows == 0 && !has_gaps)
    f(ConvolutionWay{"ConvPartialVerticalMac", 0,
                     vertical_mac_cycles(m, b.groups, p.windows.kernel_size(), std::max<int64_t>(1, windows / width),
                                         width, p.operand_bytes)});
}

/// Adds the fastest way to compute a block.
void add_product_step(const Machine& m, const ConvolutionProblem& p, const ConvolutionBlock& b, int64_t used,
                      OpCandidate& candidate) {
  const int64_t windows = saturating_product(b.batch, p.windows.windows(b.field));
  ConvolutionWay best;
  for_ways(m, p, b, windows, [&](const ConvolutionWay& way) {
    if (best.vertex.empty() || way.total() < best.total()) best = way;
  });
  candidate.compute(m, "Rearrange", best.reordering, used);
  candidate.compute(m, best.vertex, best.cycles, used, best.state);
  candidate.vertex_bytes = best.copied;
  candidate.temp_bytes += best.copied;
}

/// Number of shares into which tiles that read the same slice of the weights divide the slice.
int64_t weight_shares(const ConvolutionProblem& p, const ConvolutionCut& c) {
  const ConvolutionBlock b = block_of(p, c);
  const int64_t elements = saturating_product(b.groups * b.depth, b.columns * p.windows.kernel_size());
  return shares_of(saturating_product(elements, p.operand_bytes), c.rows(), min_share_of_weights);
}

/// Sets the steps and bytes of a partition.
void add_convolution_steps(const Machine& m, const ConvolutionProblem& p, const ConvolutionCut& c,
                           OpCandidate& candidate) {
  const ConvolutionBlock b = block_of(p, c);
  const int64_t kernel = p.windows.kernel_size(), used = c.tiles();
  const int64_t field = saturating_product(b.batch, element_count(b.field));
  // The slice of the data operand, halo included, and the slice of the other operand.
  const int64_t reads = p.weights ? b.columns : b.depth;
  const int64_t data =
      saturating_product(saturating_product(b.groups * reads, b.batch), p.windows.needed(b.field)) * p.operand_bytes;
  const int64_t other = (p.weights ? saturating_product(b.groups * b.depth, field)
                                   : saturating_product(b.groups * b.depth, b.columns * kernel)) *
                        p.operand_bytes;
  // A stride beyond the kernel leaves results of a data gradient that are the sum of nothing.
  const int64_t results = p.weights ? saturating_product(b.groups * b.depth, b.columns * kernel)
                                    : saturating_product(b.groups * b.columns, field);
  const int64_t sums =
      p.weights ? results
                : saturating_product(saturating_product(b.groups * b.columns, b.batch), p.windows.covered(b.field));
  // Number of tiles that hold a copy of each operand slice. The reduction of the weight gradient runs over field and
  // batch.
  const int64_t data_consumers = p.weights ? c.depth : c.columns, other_consumers = p.weights ? c.columns : c.rows();
  const int64_t partials = p.weights ? c.rows() : c.depth;
  int64_t from = 1;
  for (const int64_t n : p.windows.from) from = saturating_product(from, n);
  const int64_t own = saturating_product(saturating_product(b.groups * reads, b.batch), div_up(from, c.first)) *
                      p.operand_bytes / data_consumers;
  if (p.widened)
    candidate.compute(m, "Cast", cast_cycles(m, (own + other / other_consumers) / p.operand_bytes, 1, 2), used);
  // Each tile that reads a block has an equal share of the block, and receives the other shares. The rim comes from the
  // neighbours, in lines of `line_channels` channels.
  const int64_t block = own * data_consumers, rim = std::max<int64_t>(0, data - block);
  const int64_t other_shares = p.weights ? other_consumers : weight_shares(p, c);
  const SharedSlice shares = equal_shares(std::min(data, block), data_consumers, data_consumers),
                    weights = equal_shares(other, other_consumers, other_shares);
  const int64_t width = b.field.empty() ? 1 : p.windows.needed(b.field.size() - 1, b.field.back());
  const int64_t line = std::max<int64_t>(4, width * std::min(reads, line_channels) * p.operand_bytes);
  const int64_t lines = div_up(rim, line);
  const SharedSlice rims{rim, std::min(rim, own), lines, line, lines};
  Traffic operands = gather(shares, weights, p.operand_bytes, used);
  operands.add(gather(rims, {}, p.operand_bytes, used));
  // The tiles of a pair compute neighbouring columns.
  if (c.columns % 2 == 0) operands.paired_in = p.weights ? weights.in : shares.in + rim;
  if (p.bias) {
    Traffic biases;
    add_broadcast(m, *p.bias, b.groups * b.columns * p.out_bytes, used, biases);
    operands.add(biases);
  }
  candidate.exchange(m, "operands to where they are used", operands);
  candidate.temp_bytes = shares.in + rim + weights.in;
  candidate.own_bytes = shares.own + (weights.in ? weights.own : 0);
  add_product_step(m, p, b, used, candidate);
  candidate.resident_bytes = own + div_up(other, other_shares);
  add_product_reduction(m, candidate, partials, sums, p.partial_bytes, p.out_bytes, used);
  if (results > sums) {
    const int64_t zeros = div_up(results - sums, partials);
    candidate.compute(m, "Fill", fill_cycles(m, zeros, p.out_bytes), used);
    candidate.resident_bytes += zeros * p.out_bytes;
  }
  if (p.bias) {
    const int64_t elements = div_up(sums, partials), columns = std::min(elements, b.groups * b.columns);
    candidate.compute(m, "BinaryOp",
                      broadcast_vector_cycles(m, tile_add.vector, div_up(elements, std::max<int64_t>(1, columns)),
                                              columns, p.out_bytes),
                      used);
  }
}

/// Part counts of [batch, groups x channels, leading spatial axis, ...].
std::vector<int32_t> parts_of(const TensorSpec& spec, int64_t batch, int64_t channels, int64_t first) {
  std::vector<int32_t> parts(spec.shape.size(), 1);
  const int64_t given[] = {batch, channels, first};
  for (size_t i = 0; i < 3 && i < parts.size(); ++i) parts[i] = static_cast<int32_t>(given[i]);
  return parts;
}

void set_convolution_mappings(const CandidateRequest& r, const ConvolutionProblem& p, const ConvolutionCut& c,
                              OpCandidate& candidate) {
  const TensorSpec &a = r.site.input(0), &b = r.site.input(1), &y = r.site.out[0];
  const int64_t step = c.groups * c.depth * c.columns;  // tiles from one slice of the leading spatial axis to the next
  const auto strided = [&](const TensorSpec& t, std::vector<int32_t> parts, int64_t spread,
                           std::initializer_list<int64_t> leading, int64_t spread_stride) {
    std::vector<int32_t> strides(t.shape.size() + 2, 1);
    size_t i = 0;
    for (const int64_t stride : leading) strides[i++] = static_cast<int32_t>(stride);
    strides.end()[-2] = static_cast<int32_t>(spread_stride);
    return with_strides(block_mapping(t, std::move(parts), spread), std::move(strides));
  };
  // Groups and channels may both be partitioned. The parts of the groups follow each other in even steps only if the
  // channels within a group come last.
  const auto channels_stride = [&](bool columns) { return columns ? 1 : c.columns; };
  const auto data = [&](const TensorSpec& t, bool columns) {
    const int64_t channels = columns ? c.columns : c.depth;
    return r.mapping(with_channel_groups(
        strided(t, parts_of(t, c.batch, c.groups * channels, c.first), columns ? c.depth : c.columns,
                {c.first * step, channels_stride(columns), step}, columns ? c.columns : 1),
        t.shape));
  };
  const auto weight = [&](const TensorSpec& t) {
    const bool columns = p.kind == ConvolutionKind::forward;  // axis 0: output channels of the forward convolution
    return r.mapping(strided(
        t, parts_of(t, c.groups * (columns ? c.columns : c.depth), columns ? c.depth : c.columns, 1),
        p.weights ? c.rows() : weight_shares(p, c), {channels_stride(columns), channels_stride(!columns)}, step));
  };
  candidate.in[0] = data(a, false);
  candidate.in[1] = p.weights ? data(b, true) : weight(b);
  candidate.out = {p.weights ? weight(y) : data(y, true)};
}

/// The cuts to choose from: Pareto-optimal in cycles and bytes.
std::vector<ConvolutionCut> convolution_cuts(const CandidateRequest& r, const ConvolutionProblem& p, int64_t first) {
  const Machine& m = r.machine;
  // Blocks of channels are whole loads of the units. The weight gradient keeps lines of stored channels together.
  const auto counts = [](int64_t channels, int64_t grain, int64_t most) {
    return all_partition_counts(div_up(channels, grain), most);
  };
  const auto groups = partition_counts(p.groups, 1, m.tiles), batches = all_partition_counts(p.batch, m.tiles);
  const auto depths = counts(p.depth, p.weights ? line_channels : product_depth_grain(p.operand_bytes), 64);
  const int64_t column_grain = p.weights ? line_channels : product_column_grain(m, p.operand_bytes, p.partial_bytes);
  const auto columns = with_even_counts(counts(p.columns, column_grain, m.tiles), div_up(p.columns, column_grain));
  std::vector<OpCandidate> found;
  for (const int64_t g : groups) {
    if (!splits_groups_enough(g, p.groups, m)) continue;
    for (const int64_t batch : batches) {
      // The spatial axis is partitioned only if the batch is nearly fully split.
      const auto firsts = batch * 2 > p.batch ? all_partition_counts(first, m.tiles) : std::vector<int64_t>{1};
      for (const int64_t h : firsts)
        for (const int64_t depth : depths) {
          if (saturating_product(g * batch, h * depth) > m.tiles) break;
          if (g > 1 && depth > 1) break;  // split groups first
          for_largest_counts(columns, g * batch * h * depth, m, [&](int64_t n) {
            const ConvolutionCut partition{g, batch, h, depth, n};
            OpCandidate candidate = r.start("gather all");
            candidate.records_steps = false;
            add_convolution_steps(m, p, partition, candidate);
            const auto dominates = [](const OpCandidate& x, const OpCandidate& y) {
              return x.cycles <= y.cycles && x.temp_bytes <= y.temp_bytes && x.resident_bytes <= y.resident_bytes;
            };
            candidate.convolution = partition;
            insert_pareto(found, candidate, dominates);
          });
        }
    }
  }
  std::vector<ConvolutionCut> cuts;
  for (const OpCandidate& rated : found) cuts.push_back(*rated.convolution);
  return cuts;
}

void enumerate_convolution_kind(const CandidateRequest& r, ConvolutionKind kind) {
  const Machine& m = r.machine;
  const ConvolutionProblem p = convolution_problem(r, kind);
  if (p.windows.to.empty()) return enumerate_as_binary(r);
  const int64_t first = std::max<int64_t>(1, p.windows.to[0]);
  std::vector<ConvolutionCut> cuts;
  if (r.given && r.given->convolution()) {
    const ConvolutionCut& cut = *r.given->convolution();
    r.given->check_parts("groups", cut.groups, p.groups, "the groups");
    r.given->check_parts("batch", cut.batch, p.batch, "the batch");
    r.given->check_parts("field", cut.first, first, "the first axis of the field");
    r.given->check_parts("depth", cut.depth, cut.groups > 1 ? 1 : p.depth, "the depth");
    r.given->check_parts("columns", cut.columns, p.columns, "the columns");
    r.given->check_tiles(
        m, saturating_product(saturating_product(cut.groups, cut.rows()), saturating_product(cut.depth, cut.columns)));
    cuts = {cut};
  } else {
    cuts = convolution_cuts(r, p, first);
  }
  for (const ConvolutionCut& cut : cuts) {
    OpCandidate candidate = r.start("gather all");
    add_convolution_steps(m, p, cut, candidate);
    set_convolution_mappings(r, p, cut, candidate);
    candidate.convolution = cut;
    const ConvolutionBlock b = block_of(p, cut);
    candidate.text =
        fmt::format("{} x {} x {} x {} x {} parts: {} of {} channels in, {} out, field {}", cut.groups, cut.batch,
                    cut.first, cut.depth, cut.columns, b.batch, b.depth, b.columns, join_texts(b.field, " x "));
    r.candidates.push_back(std::move(candidate));
  }
}

}  // namespace

void enumerate_convolutions(const CandidateRequest& r) { enumerate_convolution_kind(r, ConvolutionKind::forward); }
void enumerate_data_gradients(const CandidateRequest& r) {
  enumerate_convolution_kind(r, ConvolutionKind::data_gradient);
}
void enumerate_weight_gradients(const CandidateRequest& r) {
  enumerate_convolution_kind(r, ConvolutionKind::weight_gradient);
}

}  // namespace pxl::tiles
