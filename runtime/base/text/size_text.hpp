// Sizes in messages, in units that people read.
#pragma once

#include <cstdint>
#include <string>

namespace pxl {

/// "512 bytes", "1.5 KiB", "3.6 TiB".
std::string size_text(int64_t bytes);

}  // namespace pxl
