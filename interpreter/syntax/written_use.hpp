// How a name is used in the text: what it is a member of, the members after it, and the arguments of a call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/diagnostics/source.hpp"

namespace pxl {

/// `a.b.name.c.d(x, y)` around `name`.
struct WrittenUse {
  Span base;  ///< `a.b`; null if the name is no member
  Span name;
  std::vector<Span> members;  ///< `c`, `d`
  Span path;                  ///< `name.c.d`
  Span call;                  ///< `a.b.name.c.d(x, y)`; null if nothing is called
  Span arguments;             ///< `x, y`
  std::vector<Span> values;   ///< `x`, `y`; of a named argument the value alone
  Span statement;             ///< from the first to the last token of its statement, in its line and bracket

  /// "name.c.d".
  std::string path_text() const;
};

/// The use of the name at a place of a text.
WrittenUse written_use(const Span& name);

/// A form with the user's own text in place of `{base}`, `{args}`, `{rest}` (all arguments but the first), `{0}`,
/// `{1}`; empty if the use lacks one of them.
std::string filled_form(std::string_view form, const WrittenUse& use);

}  // namespace pxl
