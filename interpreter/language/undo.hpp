// Undoes an input of a session. Changes are journalled while the input runs. Its beginning records the file scope's
// names, and a transaction marks graphs before they change. Objects (lists, dicts, arrays, trees, modules, the
// variables of sessions) and scopes that `nonlocal` reaches are recorded by their state before the first change. A
// journal owns everything to which the names at its beginning refer, but no other graph. A graph to which nothing else
// refers therefore cannot be restored.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "interpreter/graphs/block_transaction.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/kernels/random/draws.hpp"

namespace pxl {

class UndoJournal {
 public:
  /// Records from construction until stop() or destruction. Only one record exists at a time.
  explicit UndoJournal(Interpreter& in);
  ~UndoJournal();
  UndoJournal(const UndoJournal&) = delete;
  UndoJournal& operator=(const UndoJournal&) = delete;

  void stop();
  /// Whether a graph that existed at the beginning, or the first graph of the top level, has grown.
  bool graphs_changed() const;
  /// Whether names, objects, random numbers or imports have changed.
  bool values_changed() const;
  /// Rolls back the additions to graphs. Values stay. Those that refer to a removed part are refused at their next use
  /// (Ir::take_back_since).
  void take_back_graphs();
  /// Restores the state at which the record began. Later records must have been undone first.
  void take_back();
  /// Saves the entries of a scope before `nonlocal` changes it.
  void record(const ScopePtr& scope);

 private:
  friend class Object;
  Interpreter& in_;
  ScopePtr file_scope_;
  std::vector<Scope::Entry> names_;
  std::map<std::string, ScopePtr> imported_;
  BlockTransaction graphs_;
  std::vector<std::weak_ptr<Ir>> irs_;  ///< at the beginning
  std::shared_ptr<Ir> implicit_ir_;
  size_t targets_, options_;
  Random random_;
  struct SavedObject {
    ObjectPtr object;
    std::function<void()> restore;
  };
  std::vector<SavedObject> objects_;
  std::vector<std::pair<ScopePtr, std::vector<Scope::Entry>>> scopes_;  ///< other than the file's, before a change
};

}  // namespace pxl
