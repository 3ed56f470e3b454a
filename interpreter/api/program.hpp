// A loaded file: its interpreter, and the turns of threads that use it.
#pragma once

#include <memory>

#include "interpreter/api/access.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "pxl/program.hpp"

struct pxl::v1::Program::State {
  InterpreterPtr interpreter;
  api::Turns turns;
  Cancel cancel;
};

namespace pxl::api {

/// Makes a session that runs a program from the file.
v1::Result<v1::Session> make_session(const std::shared_ptr<v1::Program::State>& program, std::string_view text,
                                     const v1::SessionOptions& options);

/// Prepares the interpreter for a call from outside, by the thread that has the turn. The call has no position in
/// earlier texts and no state that they left.
Interpreter& entered(v1::Program::State& program);

/// The value of an expression in the scope of the file. The caller must have the turn.
Value evaluate_text(Interpreter& in, std::string_view title, std::string_view text);

}  // namespace pxl::api
