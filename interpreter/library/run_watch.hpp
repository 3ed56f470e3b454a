// The interface for observing the runs of an interpreter's sessions.
#pragma once

#include <memory>

#include "runtime/execute/observe.hpp"

namespace pxl {

class Interpreter;
struct SessionObject;

class RunWatch {
 public:
  virtual ~RunWatch() = default;
  /// Called before a run. Returns the observer of its ops, or null for a run at full speed.
  virtual RunObserver* begin(SessionObject& session) = 0;
  /// Called before the evaluation of one tensor. Returns the observer of the ops that the tensor needs, or null.
  virtual RunObserver* evaluation() = 0;
  /// Called after a run that completed.
  virtual void end(SessionObject& session) = 0;
};

/// The watch on the runs of an interpreter's sessions; may be null.
std::shared_ptr<RunWatch>& run_watch_of(Interpreter& in);

}  // namespace pxl
