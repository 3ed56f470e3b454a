// Notices about valid code that would mean something else in another framework. Each kind appears once per run, at its
// first place.
#pragma once

#include <cstdint>
#include <string>

namespace pxl {

class Interpreter;

enum class Notice : uint8_t { split, pad, narrow_sum, nll_loss, batches, dropped };

/// Says it on the stream of notices, with the place of the running code; not for code of the library, nor in a look.
void notice_once(Interpreter& in, Notice kind, const std::string& text);

}  // namespace pxl
