// Host data of streams: accepted shapes, and conversions that lose nothing unexpected.
#pragma once

#include <map>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Host data by stream.
using StreamData = std::map<const Stream*, Array>;

/// The shape of a stream's data in a run: [transfers, *shape], without the first axis for one transfer.
Shape host_shape(const Stream& stream, int64_t transfers);

/// The samples of one run in the stream's dtype, one after another. Accepts [transfers, replicas, *shape] with ones
/// dropped and the form folded over the first axis ([transfers * shape[0], ...]). Throws Error naming the stream, what
/// it takes and what was given.
Array prepare_input(const Stream& stream, int64_t transfers, const Array& data);

/// `data` in another dtype where every value survives up to rounding: integers within range, floats that do not
/// overflow, bools and integers to floats, 0 and 1 to bool; otherwise throws Error starting with `what`. Floats never
/// become integers.
Array convert_safely(const Array& data, DType dtype, const std::string& what);

}  // namespace pxl
