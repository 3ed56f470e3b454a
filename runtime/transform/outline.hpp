// Outlining: repeated sequences of ops become a graph that is called.
#pragma once

#include "runtime/transform/rebuild.hpp"

namespace pxl {

/// Code of an op, in units of a simple op: 10 for a product, 3 for a reduction or an op without pattern, 1 for
/// elementwise ops and movement; for an op that calls a graph, the code of the call.
double code_cost(const Op& op);
/// Code of a call: 1, plus 0.2 per argument or result.
double call_cost(size_t tensors);

/// Data of constants: 1 per KiB.
double data_cost(int64_t bytes);
/// Arguments and results may have to be copied: 1 per MiB and call.
double copy_cost(int64_t bytes);

/// The program with repeated sequences outlined, in all its graphs. Occurrences of a sequence are ops that follow each
/// other and agree in rows, attributes, specs, places and in how they are connected. Ops follow each other in the order
/// they were made, or, where more is saved by that, in an order in which each op stands behind what it uses, so that
/// sequences made in turns are found as well. k occurrences of a body save
///     (k - 1) (code(body) + data(constants)) - k (call(tensors) + copy(bytes handed over))
/// where constants are those that differ as tensors but not in value, which become the body's own. The sequence that
/// saves most is outlined first, as long as some saves more than `threshold`. Bodies are sequences as well, so
/// repetitions inside repetitions become nested calls. A body that is itself a repetition is cut to one period. Results
/// keep their bits.
Rewritten outline(const Ir& ir, double threshold = 1);

}  // namespace pxl
