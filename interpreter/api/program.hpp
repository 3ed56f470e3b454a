// A loaded file: its interpreter, and whose turn it is.
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

/// A session of a program of the file.
v1::Result<v1::Session> make_session(const std::shared_ptr<v1::Program::State>& program, std::string_view text,
                                     const v1::SessionOptions& options);

/// The interpreter, for a call from outside by whoever has the turn: at no place of a text that ran before, and without
/// what such texts have left.
Interpreter& entered(v1::Program::State& program);

/// The value of an expression in the scope of the file. By whoever has the turn.
Value evaluate_text(Interpreter& in, std::string_view title, std::string_view text);

}  // namespace pxl::api
