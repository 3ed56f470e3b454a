// A text elaborated for what it says, not for what it does: for editors. Nothing trains, prints or is written.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/values/interpreter.hpp"
#include "runtime/base/diagnostic.hpp"

namespace pxl {

/// What a name was bound to, at a place of the text.
struct BoundName {
  Span span;
  std::string type;  ///< "tensor float32[8, 10]"
  std::string hint;  ///< "float32[8, 10]" for tensors and arrays; empty where a reader sees the type anyway
  std::vector<std::string> members;
};

struct Analysis {
  bool finished = false;  ///< false where an interrupt ended it
  std::vector<Diagnostic> diagnostics;
  std::vector<BoundName> names;  ///< in order of position, a place once: of the first time it was bound
  std::unique_ptr<SourceFile> source;
  std::unique_ptr<Interpreter> interpreter;  ///< with what the top level bound; null where it did not get that far

  /// The last binding of a name before an offset.
  const BoundName* before(std::string_view name, uint32_t offset) const;
};

/// Never throws for what a user may write, and spends a budget of its own (base/budget.hpp). May run in any thread;
/// `cancelled` may be null, else it ends the analysis when it becomes true.
std::unique_ptr<Analysis> analyse(const std::string& path, const std::string& text,
                                  const std::atomic<bool>* cancelled = nullptr);

}  // namespace pxl
