// Host data of streams: accepted shapes, and lossless conversions.
#pragma once

#include <map>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Host data by stream.
using StreamData = StreamMap<Array>;

/// Shape of a stream's data in a run: [transfers, replicas, *shape], without the first two axes where they are 1.
Shape host_shape(const Stream& stream, int64_t transfers, int64_t replicas = 1);

/// Consecutive samples of one run in the stream's dtype. Accepts [transfers, replicas, *shape] without axes of extent
/// one, or folded into the first axis ([transfers * replicas * shape[0], ...]). Throws Error with the stream, what it
/// expects and what it got.
Array prepare_input(const Stream& stream, int64_t transfers, int64_t replicas, const Array& data);

/// Converts `data` if all values survive up to rounding: integers in range, floats that do not overflow, bools and
/// integers to floats, 0 and 1 to bool. Otherwise throws Error that begins with `what`. Never converts floats to
/// integers.
Array convert_safely(const Array& data, DType dtype, const std::string& what);

}  // namespace pxl
