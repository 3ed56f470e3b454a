// How a script ends itself.
#pragma once

namespace pxl {

/// Thrown by `exit(code)`.
struct ExitRequest {
  int code;
};

}  // namespace pxl
