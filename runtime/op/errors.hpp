// Errors of ops: each begins with the op's name and lists the operands' specs in a note.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// Throws Error "<op>: <message>" with the note "x: float32[8, 784], weight: float32[512, 512]".
/// `way_out`, if not empty, is a second note.
[[noreturn]] void refuse(const OpContext& site, const std::string& message, std::string_view code = codes::value,
                         std::string way_out = {});
/// Rethrows `e` as an Error with the op's name and the note of refuse().
[[noreturn]] void refuse_again(const OpContext& site, const std::exception& e);

/// Calls `f`, and passes its exceptions to refuse_again().
template <class F>
auto prefixed(const OpContext& site, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& e) {
    refuse_again(site, e);
  }
}

}  // namespace pxl
