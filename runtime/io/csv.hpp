// Tables in text: comma-separated values (RFC 4180), and values separated by tabs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/tensor/array.hpp"

namespace pxl {

/// Values of one column: an array [rows] of bool, int32, int64, uint64 or a floating dtype, or texts.
struct TableColumn {
  std::string name;
  std::variant<Array, std::vector<std::string>> values;
};

struct CsvOptions {
  char separator = ',';
  std::optional<bool> header = {};   ///< whether the first row has names; by default, if none of its fields is a number
  std::optional<DType> floats = {};  ///< of columns with fractions or missing values, whose numbers it rounds
  int64_t max_texts = INT64_MAX;     ///< of one column
};

/// The columns, which have as many values. Without a header they are "0", "1", ...; equal names get ".1", ".2", ....
///
/// A column is bool if all its fields are `true` or `false`. It is int32 if all are integers; int64 or uint64 if some
/// do not fit. It is `floats` if all are numbers or missing (empty, NA, N/A, null, nan); a missing number is NaN in the
/// array. Any other column is text. Without `floats` it is float32, or float64 where float32 has not all numbers, or
/// not all digits of integers beside missing fields. Missing fields only, some of them quoted, are empty texts. Blank
/// lines are skipped. Throws Error for a number that is beyond the dtype, and for an integer that float64 would round
/// unless `floats` says so. Throws Error (Fault::unreadable) with the line for a row of another length, a quote without
/// an end, and text that is not UTF-8. The same holds for more than 2^20 columns, `max_texts` texts in a column, or
/// 2^26 texts in all.
std::vector<TableColumn> read_csv(const std::string& path, const CsvOptions& options);

/// Writes a header and a row for each element. Numbers are as short as is exact. Columns must have one length.
void write_csv(const std::string& path, const std::vector<TableColumn>& columns, const CsvOptions& options);

}  // namespace pxl
