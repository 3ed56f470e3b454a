// Values of the language: results of expressions, arguments and results of functions, and settings with which programs
// are built.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pxl/array.hpp"

PXL_BEGIN_NAMESPACE

struct Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<Value, Value>>;

struct Tuple {
  List items;
};

/// A value without a counterpart in C++: a function, a session, a graph. `text` is how it is printed.
struct Opaque {
  std::string type, text;
};

struct Value {
  std::variant<std::monostate, bool, int64_t, double, std::string, DType, Array, List, Tuple, Dict, Opaque> is;

  Value() = default;  ///< none
  Value(bool v) : is(v) {}
  Value(int v) : is(int64_t{v}) {}
  Value(int64_t v) : is(v) {}
  Value(double v) : is(v) {}
  Value(const char* v) : is(std::string(v)) {}
  Value(std::string v) : is(std::move(v)) {}
  Value(DType v) : is(v) {}
  Value(Array v) : is(std::move(v)) {}
  Value(List v) : is(std::move(v)) {}
  Value(Tuple v) : is(std::move(v)) {}
  Value(Dict v) : is(std::move(v)) {}
  Value(Opaque v) : is(std::move(v)) {}

  template <class T>
  const T* as() const {
    return std::get_if<T>(&is);
  }
};

/// An argument by name.
struct Argument {
  std::string name;
  Value value;
};

PXL_END_NAMESPACE
