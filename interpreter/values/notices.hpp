// Notices about valid code that would mean something else in another framework. Each kind appears once per run, at its
// first place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pxl {

class Interpreter;

enum class Notice : uint8_t { split, pad, narrow_sum, nll_loss, batches, dropped, power };

/// Their kinds as warnings of a look: of `dropped`, and of the others.
inline constexpr std::string_view unused_result = "unused-result", other_meaning = "other-meaning";

/// Says it on the stream of notices, with the place of the running code; not for code of the library. A look has a
/// warning of it (InterpreterOptions::warn).
void notice_once(Interpreter& in, Notice kind, const std::string& text);

}  // namespace pxl
