// Errors about an argument of an unknown name: what it is called here, as an edit, or what is written in its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

/// The parameter that is meant: of a similar name, or one that other frameworks call so. Empty if there is none.
std::string meant_parameter(std::string_view name, const std::vector<std::string>& parameters);

/// Adds to an error about an unknown argument what is meant, of the parameters that are not given yet.
void explain_unknown_argument(Error& e, const NamedArg& named, const std::vector<std::string>& parameters,
                              const Arguments& args, const std::vector<std::string>& given_by_position = {});

/// An argument with the comma before it, or after it where it is the first.
Span with_comma(const Span& argument);

}  // namespace pxl
