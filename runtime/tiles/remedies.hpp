// What would help a program: changes that are planned to see what they cost.
#pragma once

#include "runtime/graph/ir.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl::tiles {

/// Plans changes of a program that does not fit, and adds what each takes to `report.remedies`: outlining, float16
/// partial sums, float16 for float32, smaller proportions for temporaries, these together, and then several chips as
/// one, by powers of two until the program fits or a tile takes no less. `report` is the program's with these options.
/// Throws Interrupted.
void try_remedies(Report& report, const Ir& ir, const EstimateOptions& options);

/// Sets `report.float16_partials_cycles` if the program fits and has products of float16 operands with float32 partial
/// sums.
void try_float16_partials(Report& report, const Graph& graph, const EstimateOptions& options);

/// A copy of a program with float16 for float32: a program to plan, not to run.
std::shared_ptr<Ir> in_float16(const Ir& ir);

/// A remedy's line of a report of the changed program.
Remedy remedy_of(std::string what, const Report& changed);

}  // namespace pxl::tiles
