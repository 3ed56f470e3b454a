// Rewrites that make ops run together: what works element by element follows its producer block by block, while the
// block is in the first-level cache, and a product hands its results on as they become ready. The bits stay the same.
#pragma once

#include "runtime/plan/fold.hpp"

namespace pxl {

/// Later readers of an in-place result read the memory by the name it had before, so that results need no place.
void forget_aliases(FoldContext& context);

/// Moves in-place updates up to where their operands are ready and the old value has had its last reader: the gradient
/// they consume lives shorter and the weights are still in cache.
void hoist_updates(FoldContext& context);

/// Activations give their slopes too where the gradients that read their operand then only multiply: the slope takes
/// the operand's place in memory.
void compute_slopes(FoldContext& context);

/// Whether `later` must stay behind `earlier`: it reads what that one makes or changes, or changes what it reads.
bool must_follow(const Aliases& aliases, const Node& later, const Node& earlier);

/// Groups a product, or an op that gives its results by element, with the elementwise ops that follow it.
void fuse_groups(FoldContext& context);

/// The product that gives a layer's gradient of its input and the one that changes its weights, where both read the
/// same gradient and nothing else comes between them, become one pass over the weights.
void pair_products(FoldContext& context);

/// An update that a much larger step follows, which has nothing to do with it, is divided together with that one:
/// threads that are called together do both.
void run_alongside(FoldContext& context);

}  // namespace pxl
