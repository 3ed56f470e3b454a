// Remedies for a program that does not fit: changes that are planned to find their cost.
#pragma once

#include "runtime/graph/ir.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl::tiles {

/// Plans changes of a program that does not fit, and appends their costs to `report.remedies`. The changes are
/// outlining, float16 partial sums, float16 for float32, smaller proportions for temporaries, and all of these
/// together. Several chips as one come last, in powers of two until the program fits or a tile takes no fewer bytes.
/// `report` is the program's report with these options. Throws Interrupted.
void try_remedies(Report& report, const Ir& ir, const EstimateOptions& options);

/// Sets `report.float16_partials_cycles` if the program fits and has products of float16 operands with float32 partial
/// sums.
void try_float16_partials(Report& report, const Graph& graph, const EstimateOptions& options);

/// A copy of a program with float16 in place of float32. The copy can be planned, but not run.
std::shared_ptr<Ir> in_float16(const Ir& ir);

/// The remedy that a report of the changed program yields.
Remedy remedy_of(std::string what, const Report& changed);

}  // namespace pxl::tiles
