// Code that the Winograd convolutions share: the transforms of a pass's data and kernels, and of the sums. Included by
// winograd_*.cpp.
#pragma once

#include <array>

#include "runtime/kernels/convolution/winograd_parts.hpp"

namespace pxl::winograd_parts {

enum class TilePass {
  outputs,     ///< a convolution's outputs
  turned,      ///< its data gradient, as the outputs of a convolution with turned kernels
  transposed,  ///< its data gradient, by transposed transforms
};

/// A unit of tiles, and the rows [begin, end) of the result that it computes.
struct UnitOfRows {
  PlaneUnits::Unit tiles;
  int64_t begin = 0, end = 0;
};

/// One pass: sums over `terms` channels for `results` channels, in all phases. If the kernels are turned, c computes a
/// data gradient and has the weights of the forward convolution.
struct TileCorrelation {
  Convolution c;
  WinogradForm form;
  TilePass way;
  bool bias;
  const WinogradFunctions* f;
  int64_t terms, results;
  int64_t columns_of_channel;  ///< sums for each channel of the result
  int64_t depth;               ///< terms of a sum
  int64_t x_plane, y_plane, taps, taps_between_terms, taps_between_results;

  TileCorrelation(const Convolution& of, const WinogradForm& in_form, TilePass by, bool with_bias)
      : c(of),
        form(in_form),
        way(by),
        bias(with_bias),
        f(&winograd(form)),
        terms(is_transposed() ? c.cout : c.cin),
        results(is_transposed() ? c.cin : c.cout),
        columns_of_channel(is_transposed() ? form.phases() : 1),
        depth(rows(terms)),
        x_plane(input_size(c.axes)),
        y_plane(output_size(c.axes)),
        taps(kernel_size(c.axes)),
        taps_between_terms(way == TilePass::outputs ? taps : results * taps),
        taps_between_results(way == TilePass::outputs ? terms * taps : taps) {}

  bool is_transposed() const { return way == TilePass::transposed; }
  /// Terms of the sums over `channels` channels, and columns of the sums for `channels` channels.
  int64_t rows(int64_t channels) const { return is_transposed() ? channels : phased_channels(form, channels); }
  int64_t columns(int64_t channels) const { return is_transposed() ? phased_channels(form, channels) : channels; }
  /// The row of the channel's first phase.
  int64_t row(int64_t channel) const { return is_transposed() ? channel : form.place(channel); }

  /// The tiles that are transformed, and the tiles of the result.
  WinogradTiles tiles_taken(int64_t down, int64_t across) const {
    return is_transposed() ? output_tiles(form, c.axes, down, across) : input_tiles(form, c.axes, down, across);
  }
  WinogradTiles tiles_given(int64_t down, int64_t across) const {
    return is_transposed() ? input_tiles(form, c.axes, down, across) : output_tiles(form, c.axes, down, across);
  }
  /// The tile rows of a transposed pass overlap, so a unit also has the tile row before its own.
  int64_t overlap(const PlaneUnits& units) const { return is_transposed() && units.per_sample > 1 ? 1 : 0; }
  UnitOfRows unit(const PlaneUnits& units, int64_t i) const {
    UnitOfRows u{units.at(i)};
    if (!is_transposed()) return u;
    const int64_t rows = c.axes[1].in, before = c.axes[1].padding_before, pitch = form.step * form.outputs,
                  next = u.tiles.row + u.tiles.rows;
    u.begin = std::clamp<int64_t>(pitch * u.tiles.row - before, 0, rows);
    u.end = next == units.rows ? rows : std::clamp<int64_t>(pitch * next - before, 0, rows);
    if (u.tiles.row == 0) return u;
    --u.tiles.row, ++u.tiles.rows;
    u.tiles.places += units.across;
    return u;
  }

  /// The parts of the result that are complete with channels [first, first + n) of group g in a unit.
  void complete(const UnitOfRows& u, int64_t g, int64_t first, int64_t n, const ResultParts::Take& f) const {
    const WindowAxis &rows = c.axes[1], &columns = c.axes[2];
    const int64_t across = is_transposed() ? columns.in : columns.out;
    const int64_t begin = is_transposed() ? u.begin : u.tiles.row * form.outputs,
                  end = is_transposed() ? u.end : std::min((u.tiles.row + u.tiles.rows) * form.outputs, rows.out);
    for (int64_t s = u.tiles.sample; s < u.tiles.sample + u.tiles.samples; ++s)
      f((s * c.groups + g) * results + first, n, begin * across, end * across);
  }
  int64_t result_plane() const { return is_transposed() ? x_plane : y_plane; }

  /// Transforms channels [first, first + n) of group g's data to tiles of `tile` numbers.
  void take(const PlaneUnits::Unit& u, const WinogradTiles& shape, int64_t g, int64_t first, int64_t n,
            int64_t position, int64_t tile, const float* from, float* to, float* memory) const {
    each_block(u, shape, g * terms + first, n, c.groups * terms,
               [&](int64_t channel, int64_t channels, int64_t plane, const WinogradTiles& t, int64_t place) {
                 float* const at = to + place * tile + row(first + channel);
                 if (is_transposed())
                   f->gradients(t, {channels, y_plane, position, tile}, false, from + plane * y_plane, at, memory);
                 else
                   f->inputs(t, {channels, x_plane, position, tile}, from + plane * x_plane, at, memory);
               });
  }
  /// Computes channels [first, first + n) of group g's result from their sums.
  void give(const UnitOfRows& u, const WinogradTiles& shape, int64_t g, int64_t first, int64_t n, int64_t position,
            int64_t tile, const float* sums, const Finish& finish, float* to, float* memory) const {
    each_block(u.tiles, shape, g * results + first, n, c.groups * results,
               [&](int64_t channel, int64_t channels, int64_t plane, const WinogradTiles& t, int64_t place) {
                 const int64_t planes = plane * result_plane();
                 const Finish own = finish.from(g * results + first + channel, planes);
                 const float* const from = sums + place * tile + channel * columns_of_channel;
                 if (is_transposed())
                   f->data(t, {channels, x_plane, position, tile}, u.begin, u.end, from, own, to + planes, memory);
                 else
                   f->outputs(t, {channels, y_plane, position, tile}, from, own, to + planes, memory);
               });
  }

  // Transformed kernels are the right operands of packed products, in panels with nr() columns.
  static int64_t nr() { return packed().nr; }
  /// Results per call of the transform. Panels are at least as wide.
  static int64_t block() { return std::min(winograd_channels, nr()); }

  /// Transforms the kernels between the first `channels` terms and results [first, first + n), n <= block(). `weights`
  /// begins with the first term and result. The panels begin with result 0; positions are `position` apart.
  void transform(int64_t first, int64_t n, int64_t channels, const float* weights, int64_t position, float* to) const {
    const int64_t panel = rows(channels) * nr();
    std::array<int64_t, max_winograd_phases> phases;
    for (int64_t p = 0; p < form.phases(); ++p) {
      const int64_t column = is_transposed() ? form.place(first) + p * winograd_channels : first;
      phases[static_cast<size_t>(p)] =
          column / nr() * panel + column % nr() + (is_transposed() ? 0 : p * winograd_channels * nr());
    }
    const WinogradKernels k{.n = n,
                            .distance = taps_between_results,
                            .rows = c.axes[1].kernel,
                            .columns = c.axes[2].kernel,
                            .turned = way == TilePass::turned};
    for (int64_t i = 0; i < channels; ++i)
      f->kernels(k, weights + i * taps_between_terms, to + row(i) * nr(), position, phases.data());
    // Zeros fill the last channel block of the phases.
    for (int64_t i = channels; row(i) * nr() < panel && i % winograd_channels != 0; ++i)
      for (int64_t p = 0; p < form.positions(); ++p)
        for (int64_t phase = 0; phase < form.phases(); ++phase)
          std::fill_n(to + row(i) * nr() + p * position + phases[static_cast<size_t>(phase)], block(), 0.0F);
  }
};

}  // namespace pxl::winograd_parts
