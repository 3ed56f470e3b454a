// Transactions of graphs: what code adds to graphs while one is open can be taken back. An Ir is marked before its
// first change, so that a transaction that changes none costs nothing. Transactions nest, each thread has its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

class GraphTransaction {
 public:
  /// `save` returns what else must be known to take back changes of an Ir. It is called with the Ir's mark.
  using Save = std::function<std::shared_ptr<void>(Ir&)>;
  explicit GraphTransaction(Save save = {});
  ~GraphTransaction() { end(); }
  GraphTransaction(const GraphTransaction&) = delete;
  GraphTransaction& operator=(const GraphTransaction&) = delete;

  /// Ends it. Its marks count for the enclosing transaction, too.
  void end();

  /// An Ir that changed, as it was before.
  struct Marked {
    Ir* ir = nullptr;
    std::shared_ptr<const Ir::Mark> mark;
    std::shared_ptr<void> saved;
  };
  /// Those that existed at the beginning. They must not be used after the end if the Ir may have been destroyed.
  const std::vector<Marked>& marked() const { return marked_; }
  const Marked* find(const Ir* ir) const;
  /// Ends it after its changes were taken back, and notes this in the Irs, for was_taken_back.
  void end_taken_back(const std::vector<Ir*>& irs);

  /// Called before each change of an Ir or of its builder's state.
  static void changing(Ir& ir);
  static void made(const Ir* ir);
  static void destroyed(const Ir* ir);

  /// A number that grows with each call.
  static uint64_t moment();
  /// Whether a transaction that was open at a moment took back changes of the Ir.
  static bool was_taken_back(const Ir& ir, uint64_t at);

 private:
  bool knows(const Ir* ir) const;
  void forget(const Ir* ir);

  Save save_;
  GraphTransaction* outer_;
  bool open_ = true;
  uint64_t begun_;
  std::vector<Marked> marked_;
  std::vector<const Ir*> made_;  ///< Irs that were made meanwhile, and still exist
};

}  // namespace pxl
