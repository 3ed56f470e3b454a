// Undo of an input of a session. Changes are journalled while the input runs: names of the file scope and graphs by a
// mark at its beginning; objects (lists, dicts, arrays, trees, modules, the variables of sessions) and scopes that
// `nonlocal` reaches by their state before the first change. A journal owns what the names of its beginning refer to,
// and no graph besides: a graph that nothing else refers to is not there to be restored.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/kernels/draws.hpp"

namespace pxl {

class UndoJournal {
 public:
  /// Records from construction until stop() or destruction; one record at a time.
  explicit UndoJournal(Interpreter& in);
  ~UndoJournal();
  UndoJournal(const UndoJournal&) = delete;
  UndoJournal& operator=(const UndoJournal&) = delete;

  void stop();
  /// Whether anything was added to a graph of the record's beginning, or to the first graph of the top level.
  bool graphs_changed() const;
  /// Whether names, objects, random numbers or imports have changed.
  bool values_changed() const;
  /// Takes back what was added to graphs. Values stay, and those that refer to what is gone are refused where they are
  /// used (Ir::take_back_since).
  void take_back_graphs();
  /// Restores the state at which the record began. Later records must have been undone before.
  void take_back();
  /// Saves the entries of a scope before `nonlocal` changes it.
  void record(const ScopePtr& scope);

 private:
  friend class Object;
  struct SavedIr {
    std::weak_ptr<Ir> ir;
    std::shared_ptr<const Ir::Mark> mark;
  };
  void leave_graphs();
  Interpreter& in_;
  ScopePtr file_scope_;
  std::vector<Scope::Entry> names_;
  std::map<std::string, ScopePtr> imported_;
  std::vector<SavedIr> irs_;
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
