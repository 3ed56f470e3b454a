// Reader and writer of tables in text. The first rows tell the type of each column, and a pass over all rows fills
// arrays. If a later row has another type, a pass over all rows finds the types first.
#include "runtime/io/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/io/format_limits.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {
namespace {

struct Field {
  std::string_view text;  ///< without quotes
  bool quoted = false;
};

// Columns and texts take many times the memory of their bytes.
constexpr size_t max_columns = size_t{1} << 20;
constexpr int64_t max_texts_in_all = int64_t{1} << 26;

/// Iterates over the rows of a text.
class Rows {
 public:
  Rows(std::string_view text, char separator, const std::string& path)
      : text_(text), separator_(separator), path_(path) {}

  /// The next row that is not blank; false at the end. Fields are valid until the next call.
  bool next(std::vector<Field>& fields) {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) line_ += text_[at_++] == '\n';
    if (at_ >= text_.size()) return false;
    check_interrupt();
    row_line_ = line_ + 1;
    fields.clear();
    unescaped_.clear();
    for (;;) {
      if (fields.size() >= max_columns) throw error(fmt::format("more than {} columns", max_columns));
      fields.push_back(field());
      if (at_ >= text_.size() || text_[at_] != separator_) break;
      ++at_;
    }
    return true;
  }
  /// Line in which the row begins, from 1.
  int64_t line() const { return row_line_; }
  Error error(std::string_view why) const { return cannot_read(fmt::format("{}:{}", path_, row_line_), why); }

 private:
  Field field() {
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const char* const begin = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    const char* end = begin;
    while (end < last && *end != separator_ && *end != '\n' && *end != '\r') ++end;
    at_ += static_cast<size_t>(end - begin);
    return {{begin, static_cast<size_t>(end - begin)}, false};
  }

  Field quoted() {
    const size_t begin = ++at_;
    size_t end = begin;
    bool escapes = false;
    for (;; end += 2, escapes = true) {
      end = text_.find('"', end);
      if (end == text_.npos) throw error("a quote without an end");
      if (end + 1 >= text_.size() || text_[end + 1] != '"') break;
    }
    at_ = end + 1;
    if (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r')
      throw error("text after a closing quote");
    const std::string_view raw = text_.substr(begin, end - begin);
    line_ += std::count(raw.begin(), raw.end(), '\n');
    if (!escapes) return {raw, true};
    auto& text = unescaped_.emplace_back(std::make_unique<std::string>());
    for (size_t i = 0; i < raw.size(); i += raw[i] == '"' ? 2 : 1) *text += raw[i];
    return {*text, true};
  }

  std::string_view text_;
  char separator_;
  const std::string& path_;
  size_t at_ = 0;
  int64_t line_ = 0, row_line_ = 1;
  std::vector<std::unique_ptr<std::string>> unescaped_;
};

std::string_view without_blanks(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}
bool same_letters(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(), [](char x, char y) {
           return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y;
         });
}
bool is_missing(std::string_view s) {
  if (s.size() > 4) return false;
  return s.empty() || same_letters(s, "na") || same_letters(s, "n/a") || same_letters(s, "null") ||
         same_letters(s, "nan");
}

/// A number such as -123.456 with at most 15 digits. Its digits and its power of ten are exact doubles, so that one
/// division rounds as the decimal number does (W. D. Clinger, "How to read floating point numbers accurately", 1990).
std::optional<double> short_decimal(std::string_view s) {
  static constexpr double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const bool negative = !s.empty() && s[0] == '-';
  if (negative) s.remove_prefix(1);
  if (s.empty() || s.size() > 16) return {};
  int64_t digits = 0;
  size_t i = 0;
  for (; i < s.size() && s[i] >= '0' && s[i] <= '9'; ++i) digits = 10 * digits + (s[i] - '0');
  size_t after_point = 0;
  if (i < s.size()) {
    if (s[i] != '.' || s.size() == 1) return {};
    const size_t first = ++i;
    for (; i < s.size() && s[i] >= '0' && s[i] <= '9'; ++i) digits = 10 * digits + (s[i] - '0');
    if (i < s.size()) return {};
    after_point = i - first;
  } else if (s.size() > 15) {
    return {};
  }
  const double value = static_cast<double>(digits) / powers[after_point];
  return negative ? -value : value;
}

template <class T>
std::optional<T> number(std::string_view s) {
  if constexpr (std::is_same_v<T, double>) {
    if (const std::optional<double> value = short_decimal(s)) return value;
  }
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  T value{};
  const auto [end, problem] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (end != s.data() + s.size() || s.empty()) return {};
  if constexpr (std::is_floating_point_v<T>) {
    // Too large a number is infinite (see is_beyond) and too small a one 0.
    if (problem == std::errc::result_out_of_range) return std::strtod(std::string(s).c_str(), nullptr);
  }
  return problem == std::errc() ? std::optional(value) : std::nullopt;
}

/// Whether a number that was read as infinite was written as a finite one.
bool is_beyond(std::string_view s, double value) {
  return std::isinf(value) && s.find_first_of("0123456789") != s.npos;
}

bool is_integer_text(std::string_view s) {
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) s.remove_prefix(1);
  return !s.empty() && s.find_first_not_of("0123456789") == s.npos;
}

/// Magnitudes up to which a floating dtype has all integers, and beyond which it has no finite numbers.
struct FloatRange {
  double exact_integers, finite, infinite;
};
FloatRange range_of(DType dtype) {
  const DTypeRow& r = row(dtype);
  return {std::ldexp(1.0, r.digits) - (dtype == DType::float64 ? 1 : 0), r.max, r.infinite};
}
bool overflows(double magnitude, const FloatRange& range) { return magnitude >= range.infinite; }

/// The properties of a column's fields so far.
struct Kind {
  bool bools = true, numbers = true;
  bool integers = true;                           ///< all numbers
  bool narrow = true, wide = true, whole = true;  ///< all integers are int32, int64, uint64
  bool some = false, missing = false, quoted = false;
  double largest = 0;  ///< magnitude
  int64_t largest_line = 0;

  void add(const Field& field, int64_t line) {
    const std::string_view s = without_blanks(field.text);
    quoted = quoted || field.quoted;
    if (bools) bools = same_letters(s, "true") || same_letters(s, "false");
    if (!numbers) return;
    if (is_missing(s)) {
      missing = true;
      return;
    }
    const std::optional<double> value = number<double>(s);
    numbers = value.has_value();
    if (!numbers) return;
    some = true;
    if (std::isfinite(*value) || is_beyond(s, *value))
      if (largest_line == 0 || std::abs(*value) > largest) {
        largest = std::abs(*value);
        largest_line = line;
      }
    integers = integers && is_integer_text(s);
    if (!integers) return;
    const std::optional<int64_t> integer = number<int64_t>(s);
    narrow = narrow && integer && *integer >= INT32_MIN && *integer <= INT32_MAX;
    wide = wide && integer;
    whole = whole && (integer ? *integer >= 0 : number<uint64_t>(s).has_value());
  }
  /// A column with nothing but missing fields is NaN, unless some are quoted: quoted fields are empty texts.
  bool is_text() const { return !bools && (!numbers || (!some && quoted)); }
  bool is_integer() const { return integers && some && !missing && (wide || whole); }
  /// The dtype of an array. If the caller names none, it is the first of float32 and float64 that has all numbers, and
  /// loses no integer beside a missing field.
  DType dtype(std::optional<DType> floats) const {
    if (bools) return DType::boolean;
    if (is_integer()) return narrow ? DType::int32 : wide ? DType::int64 : DType::uint64;
    if (floats) return *floats;
    return fits(range_of(DType::float32)) ? DType::float32 : DType::float64;
  }
  bool fits(const FloatRange& range) const {
    return integers ? largest <= range.exact_integers : !overflows(largest, range);
  }
};

bool is_number(const Field& f) {
  const std::string_view s = without_blanks(f.text);
  return number<double>(s).has_value() && !is_missing(s);
}

/// Fills a column from row to row.
struct Filler {
  DType dtype;
  std::byte* data;  ///< null for a column of texts
  double limit;     ///< magnitude of numbers in a column of floats: beyond it the column may be another one

  /// False if the field is no value of the column's dtype.
  bool store(int64_t row, std::string_view s) const {
    if (dtype == DType::boolean) {
      const bool is_true = same_letters(s, "true");
      reinterpret_cast<bool*>(data)[row] = is_true;
      return is_true || same_letters(s, "false");
    }
    if (dtype == DType::uint64) {
      const std::optional<uint64_t> value = number<uint64_t>(s);
      if (value) reinterpret_cast<uint64_t*>(data)[row] = *value;
      return value.has_value();
    }
    if (dtype == DType::int32 || dtype == DType::int64) {
      const std::optional<int64_t> value = number<int64_t>(s);
      if (!value || (dtype == DType::int32 && (*value < INT32_MIN || *value > INT32_MAX))) return false;
      if (dtype == DType::int32)
        reinterpret_cast<int32_t*>(data)[row] = static_cast<int32_t>(*value);
      else
        reinterpret_cast<int64_t*>(data)[row] = *value;
      return true;
    }
    const std::optional<double> value = is_missing(s) ? std::nan("") : number<double>(s);
    if (!value || (std::abs(*value) > limit && (std::isfinite(*value) || is_beyond(s, *value)))) return false;
    with_type(dtype, [&]<class T>(type_tag<T>) { reinterpret_cast<T*>(data)[row] = cast_element<T>(*value); });
    return true;
  }
};

/// The shortest text that is exact.
std::string element_text(const Array& a, int64_t i) {
  switch (a.dtype()) {
    case DType::boolean: return a.data<bool>()[i] ? "true" : "false";
    case DType::float16: return number_text(a.data<half>()[i]);
    case DType::bfloat16: return number_text(a.data<bfloat16>()[i]);
    case DType::float32: return number_text(a.data<float>()[i]);
    case DType::int64: return std::to_string(a.data<int64_t>()[i]);
    case DType::uint64: return std::to_string(a.data<uint64_t>()[i]);
    case DType::float64: return number_text(a.data<double>()[i]);
    default: return std::to_string(static_cast<int64_t>(a.number(i)));
  }
}

/// A quoted name keeps its blanks. Equal names get a number that makes them differ from all others.
std::vector<std::string> column_names(const std::vector<Field>& header) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  std::map<std::string, int> seen;
  for (const Field& f : header) taken.emplace(f.quoted ? f.text : without_blanks(f.text));
  for (const Field& f : header) {
    std::string name(f.quoted ? f.text : without_blanks(f.text));
    int& again = seen[name];
    std::string unique = name;
    while (again > 0 && !taken.insert(unique = name + "." + std::to_string(again)).second) ++again;
    ++again;
    names.push_back(std::move(unique));
  }
  return names;
}

void check_utf8(const Rows& at, std::string_view s) {
  if (!is_utf8(s)) throw at.error("text that is not UTF-8");
}

/// The table's properties, as the first rows of the text show them.
struct Survey {
  bool header = false;
  std::vector<std::string> names;
  std::vector<Kind> kinds;
  int64_t rows = 0;
  bool whole = true;  ///< of all rows

  /// Whether further rows cannot turn a column into another kind of text.
  bool is_clear() const {
    return std::all_of(kinds.begin(), kinds.end(), [](const Kind& k) { return k.some || !k.numbers; });
  }
};

struct Source {
  std::string_view text;
  const std::string& path;
  const CsvOptions& options;

  Rows rows() const { return {text, options.separator, path}; }
};

Survey survey(const Source& source, int64_t max_rows) {
  Survey out;
  std::vector<Field> fields;
  Rows rows = source.rows();
  while (rows.next(fields)) {
    if (out.kinds.empty()) {
      out.header = source.options.header.value_or(std::none_of(fields.begin(), fields.end(), is_number));
      out.kinds.resize(fields.size());
      for (const Field& f : fields) check_utf8(rows, f.text);
      out.names = column_names(fields);
      if (out.header) continue;
      for (size_t c = 0; c < out.names.size(); ++c) out.names[c] = std::to_string(c);
    }
    if (out.rows == max_rows) {
      out.whole = false;
      break;
    }
    if (fields.size() != out.kinds.size())
      throw rows.error(fmt::format("{} fields, where the first row has {}", fields.size(), out.kinds.size()));
    for (size_t c = 0; c < fields.size(); ++c) out.kinds[c].add(fields[c], rows.line());
    ++out.rows;
  }
  return out;
}

/// An upper bound on the number of rows: the line ends plus one.
int64_t row_bound(std::string_view text) {
  int64_t n = 1;
  for (size_t i = 0; i < text.size(); ++i)
    n += text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'));
  return n;
}

/// Why no dtype has all numbers of a column, which only the caller may round; nullopt where one has.
std::optional<Error> range_problem(const Source& source, const std::string& column, const Kind& kind) {
  const DType dtype = kind.dtype(source.options.floats);
  if (kind.is_text() || !is_floating(dtype)) return {};
  const FloatRange range = range_of(dtype);
  const auto problem = [&](std::string_view why, const std::string& note) {
    Error e = cannot_read(fmt::format("{}:{}", source.path, kind.largest_line),
                          fmt::format("column `{}` has a number {}", column, why));
    e.first().notes.push_back(note);
    return e;
  };
  if (overflows(kind.largest, range))
    return problem(fmt::format("beyond {}", name(dtype)), dtype == DType::float64
                                                              ? "write `inf` for infinity"
                                                              : "`load(path, dtype = float64)` has larger numbers");
  if (!source.options.floats && kind.integers && !kind.fits(range))
    return problem(kind.missing ? "of too many digits beside missing fields" : "of too many digits",
                   "`load(path, dtype = float64)` rounds it");
  return {};
}

/// The columns, of kinds as surveyed; nullopt if a row that was not surveyed has others, or an error.
std::optional<std::vector<TableColumn>> fill(const Source& source, const Survey& seen) {
  const int64_t max_rows = seen.whole ? seen.rows : row_bound(source.text);
  std::vector<TableColumn> columns;
  std::vector<Filler> fillers;
  int64_t texts = 0;  // in a row
  for (size_t c = 0; c < seen.kinds.size(); ++c) {
    TableColumn& column = columns.emplace_back(TableColumn{seen.names[c], std::vector<std::string>()});
    // A column is text if no row is read.
    const bool is_text = max_rows == 0 || seen.kinds[c].is_text();
    const Kind& kind = seen.kinds[c];
    const DType dtype = kind.dtype(source.options.floats);
    if (const std::optional<Error> problem = range_problem(source, column.name, kind)) {
      if (!seen.whole) return {};  // later rows may make another kind of the column
      throw *problem;
    }
    double limit = 0;
    if (!is_text && is_floating(dtype)) {
      const FloatRange range = range_of(dtype);
      limit = !source.options.floats && kind.integers ? range.exact_integers : range.finite;
      // All rows have been checked, and numbers just beyond the last one round to it.
      if (seen.whole) limit = std::numeric_limits<double>::infinity();
    }
    if (!is_text) column.values = Array(dtype, Shape{max_rows});
    fillers.push_back({dtype, is_text ? nullptr : std::get<Array>(column.values).mutable_raw(), limit});
    texts += is_text;
    if (is_text && seen.whole && (seen.rows > source.options.max_texts || texts * seen.rows > max_texts_in_all))
      throw cannot_read(source.path, fmt::format("the {} texts of column `{}` are too many: a column has at most {}, "
                                                 "a table {}",
                                                 seen.rows, column.name, source.options.max_texts, max_texts_in_all));
  }
  std::vector<Field> fields;
  int64_t row = seen.header ? -1 : 0;
  for (Rows rows = source.rows(); rows.next(fields); ++row) {
    if (row < 0) continue;
    if (fields.size() != columns.size()) return {};
    if (texts > 0 && (row >= source.options.max_texts || row >= max_texts_in_all / texts)) return {};
    for (size_t c = 0; c < fields.size(); ++c) {
      if (fillers[c].data) {
        if (!fillers[c].store(row, without_blanks(fields[c].text))) return {};
      } else {
        check_utf8(rows, fields[c].text);
        std::get<std::vector<std::string>>(columns[c].values).emplace_back(fields[c].text);
      }
    }
  }
  for (TableColumn& column : columns)
    if (auto* array = std::get_if<Array>(&column.values); array && row < max_rows) *array = array->rows(0, row).clone();
  return columns;
}

}  // namespace

std::vector<TableColumn> read_csv(const std::string& path, const CsvOptions& options) {
  const std::string bytes = read_whole_file(path);
  std::string_view text = bytes;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the byte order mark of spreadsheets
  const Source source{text, path, options};
  // The first rows nearly always tell the kinds of all.
  constexpr int64_t first_rows = 1000;
  Survey seen = survey(source, first_rows);
  if (!seen.whole && seen.is_clear())
    if (auto columns = fill(source, seen)) return *std::move(columns);
  if (!seen.whole) seen = survey(source, std::numeric_limits<int64_t>::max());
  return fill(source, seen).value();
}

void write_csv(const std::string& path, const std::vector<TableColumn>& columns, const CsvOptions& options) {
  const auto length = [](const TableColumn& c) {
    const auto* array = std::get_if<Array>(&c.values);
    if (array && array->rank() != 1)
      throw Error(fmt::format("the column `{}` is {}, and a column has one axis", c.name, pxl::text(array->spec())))
          .as(codes::shape);
    return array ? array->size() : static_cast<int64_t>(std::get<std::vector<std::string>>(c.values).size());
  };
  std::string out;
  const auto put = [&](std::string_view s) {
    const bool plain = !s.empty() && s.find_first_of("\"\r\n") == s.npos && s.find(options.separator) == s.npos &&
                       s.front() != ' ' && s.back() != ' ';
    if (plain) {
      out += s;
      return;
    }
    out += '"';
    for (char c : s) out.append(c == '"' ? 2 : 1, c);
    out += '"';
  };
  for (size_t c = 0; c < columns.size(); ++c) {
    if (length(columns[c]) != length(columns[0]))
      throw Error(fmt::format("the column `{}` has {} values, `{}` has {}", columns[c].name, length(columns[c]),
                              columns[0].name, length(columns[0])))
          .as(codes::shape);
    if (c > 0) out += options.separator;
    put(columns[c].name);
  }
  out += '\n';
  for (int64_t row = 0, rows = columns.empty() ? 0 : length(columns[0]); row < rows; ++row) {
    check_interrupt();
    for (size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) out += options.separator;
      if (const auto* array = std::get_if<Array>(&columns[c].values)) {
        out += element_text(*array, row);
      } else {
        put(std::get<std::vector<std::string>>(columns[c].values)[static_cast<size_t>(row)]);
      }
    }
    out += '\n';
  }
  write_file_atomically(path, out);
}

}  // namespace pxl
