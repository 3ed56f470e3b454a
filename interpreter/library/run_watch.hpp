// Who looks at the runs of an interpreter's sessions.
#pragma once

#include <memory>

#include "runtime/execute/observe.hpp"

namespace pxl {

class Interpreter;
struct SessionObject;

class RunWatch {
 public:
  virtual ~RunWatch() = default;
  /// Before a run: who observes its ops, or null for a run at full speed.
  virtual RunObserver* begin(SessionObject& session) = 0;
  /// Before one tensor is evaluated: the same, of what it needs.
  virtual RunObserver* evaluation() = 0;
  /// After a run that came to its end.
  virtual void end(SessionObject& session) = 0;
};

/// What observes the runs of an interpreter's sessions; may be null.
std::shared_ptr<RunWatch>& run_watch_of(Interpreter& in);

}  // namespace pxl
