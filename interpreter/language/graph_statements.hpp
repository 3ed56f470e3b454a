// Statements that declare parts of graphs, as the language calls them. The room `graphs` implements them, in the files
// named here.
#pragma once

#include <string>

#include "interpreter/language/activation.hpp"

namespace pxl {

void declare_module(Interpreter& in, const ast::ModuleStmt& s, Activation& a);      ///< modules.cpp
void declare_program(Interpreter& in, const ast::ProgramStmt& s, Activation& a);    ///< programs.cpp
void set_next(Interpreter& in, const ast::NextStmt& s, Activation& a);              ///< states.cpp
void declare_param(Interpreter& in, const ast::ParamStmt& s, Activation& a);        ///< params.cpp
void declare_stream(Interpreter& in, const ast::StreamStmt& s, Activation& a);      ///< streams.cpp
void declare_variable(Interpreter& in, const ast::VariableStmt& s, Activation& a);  ///< variables.cpp
/// `outlined fc2 = ...` in a module, and `outlined def` (outlining.cpp).
Value outlined(Interpreter& in, const Value& v, const std::string& name);
Value outlined_function(Interpreter& in, const ast::Function& f, Activation& a);

}  // namespace pxl
