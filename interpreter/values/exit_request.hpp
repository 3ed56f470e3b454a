// The request of a script to end itself.
#pragma once

namespace pxl {

/// Thrown by `exit(code)`.
struct ExitRequest {
  int code;
};

}  // namespace pxl
