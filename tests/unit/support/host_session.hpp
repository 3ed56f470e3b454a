// An interpreter as tests of the language and its values use it.
#pragma once

#include <string>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::test {

struct HostSession {
  std::string out;  ///< what the texts have printed
  Interpreter in;
  HostSession()
      : in([this] {
          InterpreterOptions o;
          o.out = [this](std::string_view t) { out += t; };
          return o;
        }()) {}
  Value run(const std::string& text) { return evaluator_of(in).run_more(parse_or_throw(add_source("[1]", text))); }
  std::string shown(const std::string& text) { return repr_of(in, run(text)); }
  /// The message of the Error that the text raises, without notes; empty if there is none.
  std::string error(const std::string& text) {
    try {
      run(text);
    } catch (const Error& e) {
      return e.first().message;
    }
    return {};
  }
};

}  // namespace pxl::test
