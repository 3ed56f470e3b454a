// Outlining: repeated sequences of ops become a graph that is called.
#pragma once

#include "runtime/transform/rebuild.hpp"

namespace pxl {

/// Code of an op, in units of a simple op: 10 for a product, 3 for a reduction or without pattern, 1 for elementwise
/// ops and movement. An op that calls a graph has the code of the call.
double code_cost(const Op& op);
/// Code of a call: 1, plus 0.2 per argument or result.
double call_cost(size_t tensors);

/// Data of constants: 1 per KiB.
double data_cost(int64_t bytes);
/// Arguments and results may have to be copied: 1 per MiB and call.
double copy_cost(int64_t bytes);

/// Outlines repeated sequences in all graphs of a program, of which equal ones become one first. Occurrences of a
/// sequence are consecutive ops with equal rows, attributes, specs, placement and connections. The order is creation
/// order, or a topological order by use if that saves more, which also finds interleaved sequences. k occurrences of a
/// body save (k - 1) (code(body) + data(constants)) - k (call(tensors) + copy(bytes passed)). Constants that differ as
/// tensors but not in value count here, and become part of the body. Greedy: outlines the sequence with the largest
/// savings while one is above `threshold`. Bodies are sequences too, so nested repetitions become nested calls. A body
/// that is itself a repetition is cut to one period. Results keep their bits.
Rewritten outline(const Ir& ir, double threshold = 1);

}  // namespace pxl
