// Elaborates a text without effects, for editors: nothing is trained, printed or written.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/language/open_texts.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

/// The value to which a name is bound, at a location of the text.
struct BoundName {
  Span span;
  std::string type;  ///< "tensor float32[8, 10]"
  std::string hint;  ///< "float32[8, 10]" for tensors and arrays; empty if the text shows the type
  std::vector<std::string> members;
};

struct Analysis {
  bool finished = false;  ///< false if the analysis was interrupted
  std::vector<Diagnostic> diagnostics;
  std::vector<BoundName> names;  ///< in order of position, one per location: its first binding
  std::unique_ptr<SourceFile> source;
  std::shared_ptr<OpenTexts> open_texts;  ///< the object that the caller passed; it has recorded the imported files
  InterpreterPtr interpreter;  ///< state after the statements of the top level; null if analysis ended earlier

  /// The last binding of a name before an offset.
  const BoundName* before(std::string_view name, uint32_t offset) const;
};

/// Never throws for any text, and has a separate budget (base/limits/budget.hpp). Thread-safe. `cancelled` may be null;
/// otherwise the analysis ends when it becomes true.
/// `open_texts` may be null; otherwise imports take its texts in place of files.
std::unique_ptr<Analysis> analyse(const std::string& path, const std::string& text,
                                  const std::atomic<bool>* cancelled = nullptr,
                                  std::shared_ptr<OpenTexts> open_texts = nullptr);

}  // namespace pxl
