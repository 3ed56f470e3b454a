// The C++ interface of pxl: programs of the language in other programs. docs/library.md tells how.
#pragma once

#include "pxl/array.hpp"
#include "pxl/error.hpp"
#include "pxl/program.hpp"
#include "pxl/session.hpp"
#include "pxl/value.hpp"
