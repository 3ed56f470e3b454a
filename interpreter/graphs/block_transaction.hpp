// Rolls back what a block adds to graphs: the Irs that it changed, builds in progress, and the facts that the session
// has about them. A `try` and an input of the REPL are such blocks.
#pragma once

#include <memory>

#include "runtime/graph/transaction.hpp"

namespace pxl {

class Interpreter;

class BlockTransaction {
 public:
  explicit BlockTransaction(Interpreter& in);

  /// Takes back what the block added, and ends it. Values may refer to it: every use of it is an error
  /// (Ir::take_back_since). Sessions that the block made of Irs that it changed are closed.
  void take_back();
  /// Ends the block.
  void end() { graphs_.end(); }

  // ---- for the journal of an input, which outlives it
  const GraphTransaction& graphs() const { return graphs_; }
  /// Takes back as take_back() does, without closing sessions.
  void take_back_changes();
  /// Whether an Ir that existed at the beginning, or the first one of the top level, has grown.
  bool changed() const;
  /// Restores what the session knows of an Ir, after the Ir itself.
  static void restore(Interpreter& in, Ir& ir, const GraphTransaction::Marked& marked);

 private:
  Interpreter& in_;
  size_t targets_;
  const Ir* top_;  ///< the program of the top level; null if there was none
  GraphTransaction graphs_;
};

}  // namespace pxl
