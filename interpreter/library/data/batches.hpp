// Batches of a data set, in order or shuffled: passes, the position in one, and the threads that read ahead.
#pragma once

#include <cstdint>
#include <optional>

#include "interpreter/library/data/data_source.hpp"

namespace pxl {

/// How the rows of a pass are ordered: as they are; by seed and epoch; by the script's generator when a pass begins.
enum class RowOrder : uint8_t { as_is, of_seed, drawn };
/// The treatment of rows that do not fill the last batch.
enum class LastBatch : uint8_t { keep, drop, pad };

struct BatchesOptions {
  int64_t size = 0;
  RowOrder order = RowOrder::as_is;
  LastBatch last = LastBatch::keep;
  uint64_t seed = 0;
  int64_t prefetch = 0;   ///< batches that threads read ahead; nothing but files is read ahead
  bool as_tuple = false;  ///< the columns of a batch are a tuple, without names
};

/// Throws Error for options that do not fit the set.
Value make_batches(DataSourcePtr set, const BatchesOptions& options);

}  // namespace pxl
