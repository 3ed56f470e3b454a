// Python's arithmetic on host numbers, and the parsing of numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/value.hpp"

namespace pxl {

/// Arithmetic on bools, 64-bit ints and floats. Overflow beyond 64 bits, division by zero and invalid shifts are
/// Errors.
Value number_binary(ast::BinaryOp op, const Value& a, const Value& b);
/// -1, 0, 1; 2 if one is a NaN. Ints and floats compare exactly.
int number_order(const Value& a, const Value& b);
int64_t checked_add(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
/// Truncates a finite float. Throws for other floats, and for results beyond 64 bits.
int64_t int_from_double(double d);
/// Parses "12", " -3 ", "0x1F", "1_000"; nullopt if the text is not an int.
std::optional<int64_t> parse_int(std::string_view text, int base = 10);
std::optional<double> parse_float(std::string_view text);

}  // namespace pxl
