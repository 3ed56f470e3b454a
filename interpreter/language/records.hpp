// Declares records, and makes records from JSON values.
#pragma once

#include "interpreter/language/activation.hpp"
#include "interpreter/values/records.hpp"

namespace pxl {

void declare_record(Interpreter& in, const ast::RecordStmt& s, Activation& a);
/// The record with the fields in a dict. Dicts become records, and lists become tuples or arrays, as the annotations of
/// fields require.
Value record_from(Interpreter& in, const RecordType& type, const Value& fields);

}  // namespace pxl
