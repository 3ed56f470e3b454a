// Programs on several IPUs, divided into a program for each.
#pragma once

#include <memory>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// The IPUs that a graph and the graphs that it calls use, ascending. An op is on its own IPU; without one on that of
/// the innermost call around it that has one, else on IPU 0.
std::vector<int> ipus_of(const Graph& graph);

/// The ops of a program that are on one IPU, with the variables that they use. A tensor that another IPU makes is new
/// memory (Init): the program has the cost of this IPU, and not its values. Ops keep their numbers. Not verified: a
/// graph that is called on two IPUs may be there twice. Throws for a conditional whose branches are on several IPUs.
std::shared_ptr<Ir> part_on_ipu(const Ir& ir, int ipu);

}  // namespace pxl
