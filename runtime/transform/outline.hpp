// Outlining: sequences of ops that occur several times become a graph that is called.
#pragma once

#include "runtime/transform/rebuild.hpp"

namespace pxl {

/// The code that an op needs, in units of one simple op: 10 for a product, 3 for a reduction or an op of no particular
/// pattern, 1 for elementwise ops and movement; for an op that calls a graph, the code of that call.
double code_cost(const Op& op);
/// The code of a call: 1, and 0.2 for each tensor handed over.
double call_cost(size_t tensors);

/// The data of constants: 1 for each KiB.
double data_cost(int64_t bytes);
/// What is handed over may have to be copied: 1 for each MiB, at each call.
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
