// The cut of one op: as a candidate has it, as a line of text gives it, and whether both agree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tiles/candidates/candidates.hpp"
#include "runtime/tiles/cuts/cut_file.hpp"

namespace pxl::tiles {

/// The facts that name a candidate, as text: "rows 4, columns 2", "all blocks 8x16". Empty for an op without a step.
std::string cut_text(const Machine& m, const Op& op, const OpCandidate& candidate, const TileMappingTable& mappings,
                     const CandidateOptions& options);

/// Why a tensor cannot have a mapping; empty if it can.
std::string mapping_problem(const Machine& m, const TileMapping& mapping, const TensorSpec& spec);
/// Reads a mapping as `text` writes it, from the words after the key. Throws Error.
TileMapping read_mapping(const Machine& m, const CutItem& item, const TensorSpec& spec);

/// A line of cuts for an op. What the line leaves out is free; numbers of parts that it leaves out are 1.
class GivenCut {
 public:
  /// Throws Error at an item that the op does not have.
  GivenCut(const CutLine& line, const Op& op, const Machine& m, TileMappingTable& mappings);

  const std::optional<ProductCut>& product() const { return product_; }
  const std::optional<ConvolutionCut>& convolution() const { return convolution_; }
  const std::optional<TableCut>& table() const { return table_; }
  int64_t half_partial_bytes() const { return half_partial_bytes_; }  ///< 0: not given
  bool has_mappings() const { return !mappings_.empty(); }
  /// The given mappings that a tensor with this spec can have.
  std::vector<int32_t> mappings_of(const OpContext& site, const TensorSpec& spec) const;
  /// The mapping of an operand or a result; -1 if none is given.
  int32_t operand(size_t slot) const { return in_[slot]; }
  int32_t result(size_t index) const { return out_[index]; }
  bool agrees(const OpCandidate& candidate) const;

  /// Throws Error at the item with this key unless 1 <= n <= most. `what`: "rows of the left operand".
  void check_parts(std::string_view key, int64_t n, int64_t most, std::string_view what) const;
  /// The same for axes that are divided together, the first ones first.
  void check_axes(std::string_view key, int64_t n, const Shape& axes, std::string_view what) const;
  void check_tiles(const Machine& m, int64_t tiles) const;
  [[noreturn]] void refuse(std::string_view key, std::string message, std::vector<std::string> notes = {}) const;

 private:
  const CutLine& line_;
  std::vector<int32_t> in_, out_;
  int32_t all_ = -1;
  std::vector<int32_t> mappings_;
  std::string way_;
  std::optional<ProductCut> product_;
  std::optional<ConvolutionCut> convolution_;
  std::optional<TableCut> table_;
  int64_t half_partial_bytes_ = 0;
  const TileMappingTable& table_of_mappings_;
  const Machine& machine_;
};

}  // namespace pxl::tiles
