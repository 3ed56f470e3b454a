#include "interpreter/tools/make_interpreter.hpp"

#include "interpreter/tools/debug.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/interpreter.hpp"

namespace pxl {

void InterpreterDeleter::operator()(Interpreter* in) const { delete in; }

InterpreterPtr make_interpreter(InterpreterOptions options) {
  InterpreterPtr in(new Interpreter(std::move(options)));
  bind_debug_builtins(*in);
  return in;
}

}  // namespace pxl
