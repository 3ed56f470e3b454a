// The backend without a library: LineEditor reads plain lines.
#if !defined(PXL_READLINE) && !defined(PXL_EDITLINE)

#include "interpreter/repl/line_backend.hpp"

namespace pxl::line_backend {

std::string name() { return {}; }
void set_up() {}
bool read(const std::string&, const std::string&, std::string&) { return false; }
bool set_painter(std::function<std::string(std::string_view)>) { return false; }
void remember(const std::string&) {}
void forget_all() {}

}  // namespace pxl::line_backend

#endif
