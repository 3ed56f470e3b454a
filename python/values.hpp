// Converts values between Python and the language.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "arrays.hpp"

namespace pxl_python {

/// Arrays are read in place while the value lives. Throws TypeError, ValueError; `what` is whose value it is.
pxl::Value value_of(const py::handle& object, const std::string& what);
std::vector<pxl::Argument> arguments_of(const py::dict& names);
py::object object_of(const pxl::Value& value);

}  // namespace pxl_python
