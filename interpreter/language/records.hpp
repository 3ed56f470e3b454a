// Declaring records, and making them of the values that JSON has.
#pragma once

#include "interpreter/language/activation.hpp"
#include "interpreter/values/records.hpp"

namespace pxl {

void declare_record(Interpreter& in, const ast::RecordStmt& s, Activation& a);
/// The record of a dict of its fields. Dicts become records, lists become tuples and arrays, where the annotations of
/// fields say so.
Value record_from(Interpreter& in, const RecordType& type, const Value& fields);

}  // namespace pxl
