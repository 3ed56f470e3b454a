// Reader and writer of tables in text. The text is read twice: the first pass finds the type of each column, the second
// fills arrays of their final size.
#include "runtime/io/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>

#include "runtime/base/atomic_file.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/io/format_limits.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {
namespace {

using Field = std::string_view;  ///< without quotes

// Columns and texts take many times the memory of their bytes. Not measured.
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
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
    return text_.substr(begin, at_ - begin);
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
    if (!escapes) return raw;
    auto& text = unescaped_.emplace_back(std::make_unique<std::string>());
    for (size_t i = 0; i < raw.size(); i += raw[i] == '"' ? 2 : 1) *text += raw[i];
    return *text;
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
  return s.empty() || same_letters(s, "na") || same_letters(s, "n/a") || same_letters(s, "null") ||
         same_letters(s, "nan");
}

template <class T>
std::optional<T> number(std::string_view s) {
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  T value{};
  const auto [end, problem] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (end != s.data() + s.size() || s.empty()) return {};
  if constexpr (std::is_floating_point_v<T>) {
    // Too large a number is infinite and too small a one 0.
    if (problem == std::errc::result_out_of_range) return std::strtod(std::string(s).c_str(), nullptr);
  }
  return problem == std::errc() ? std::optional(value) : std::nullopt;
}

/// What the fields of a column have been so far.
struct Kind {
  bool bools = true, narrow = true, wide = true, numbers = true, some = false;

  void add(const Field& field) {
    const std::string_view s = without_blanks(field);
    if (bools) bools = same_letters(s, "true") || same_letters(s, "false");
    if (numbers) {
      const std::optional<int64_t> integer = wide ? number<int64_t>(s) : std::nullopt;
      if (!integer) {
        wide = narrow = false;
        numbers = is_missing(s) || number<double>(s).has_value();
        some = some || !is_missing(s);
      } else {
        narrow = narrow && *integer >= INT32_MIN && *integer <= INT32_MAX;
        some = true;
      }
    }
  }
  bool is_text() const { return !bools && !(numbers && some); }
  DType dtype(DType floats) const {
    return bools ? DType::boolean : narrow ? DType::int32 : wide ? DType::int64 : floats;
  }
};

bool is_number(const Field& f) {
  return number<double>(without_blanks(f)).has_value() && !is_missing(without_blanks(f));
}

void store(Array& a, int64_t row, std::string_view s) {
  switch (a.dtype()) {
    case DType::boolean: a.mutable_data<bool>()[row] = same_letters(s, "true"); return;
    case DType::int32: a.mutable_data<int32_t>()[row] = static_cast<int32_t>(*number<int64_t>(s)); return;
    case DType::int64: a.mutable_data<int64_t>()[row] = *number<int64_t>(s); return;
    default: break;
  }
  const double value = is_missing(s) ? std::nan("") : *number<double>(s);
  if (a.dtype() == DType::float64)
    a.mutable_data<double>()[row] = value;
  else if (a.dtype() == DType::float32)
    a.mutable_data<float>()[row] = static_cast<float>(value);
  else
    a.mutable_data<half>()[row] = half(static_cast<float>(value));
}

/// As short as is exact.
std::string element_text(const Array& a, int64_t i) {
  switch (a.dtype()) {
    case DType::boolean: return a.data<bool>()[i] ? "true" : "false";
    case DType::float16: return number_text(a.data<half>()[i]);
    case DType::float32: return number_text(a.data<float>()[i]);
    case DType::int64: return std::to_string(a.data<int64_t>()[i]);
    case DType::uint64: return std::to_string(a.data<uint64_t>()[i]);
    case DType::float64: return number_text(a.data<double>()[i]);
    default: return std::to_string(static_cast<int64_t>(a.number(i)));
  }
}

std::vector<std::string> column_names(const std::vector<Field>& header) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (const Field& f : header) {
    std::string name(without_blanks(f));
    const int again = seen[name]++;
    if (again > 0) name += "." + std::to_string(again);
    names.push_back(std::move(name));
  }
  return names;
}

void check_utf8(const Rows& at, std::string_view s) {
  if (!is_utf8(s)) throw at.error("text that is not UTF-8");
}

}  // namespace

std::vector<TableColumn> read_csv(const std::string& path, const CsvOptions& options) {
  const std::string bytes = read_whole_file(path);
  std::string_view text = bytes;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the byte order mark of spreadsheets

  std::vector<Field> fields;
  std::vector<std::string> names;
  std::vector<Kind> kinds;
  bool header = false;
  int64_t count = 0;
  for (Rows rows(text, options.separator, path); rows.next(fields);) {
    if (kinds.empty()) {
      header = options.header.value_or(std::none_of(fields.begin(), fields.end(), is_number));
      kinds.resize(fields.size());
      for (const Field& f : fields) check_utf8(rows, f);
      names = column_names(fields);
      if (header) continue;
      for (size_t c = 0; c < names.size(); ++c) names[c] = std::to_string(c);
    }
    if (fields.size() != kinds.size())
      throw rows.error(fmt::format("{} fields, where the first row has {}", fields.size(), kinds.size()));
    for (size_t c = 0; c < fields.size(); ++c) kinds[c].add(fields[c]);
    ++count;
  }

  int64_t texts = 0;
  for (size_t c = 0; c < kinds.size(); ++c) {
    if (!kinds[c].is_text()) continue;
    texts += count;
    if (count > options.max_texts || texts > max_texts_in_all)
      throw cannot_read(
          path, fmt::format("the {} texts of column `{}` are too many: a column has at most {}, a table {}", count,
                            names[c], options.max_texts, max_texts_in_all));
  }
  std::vector<TableColumn> columns;
  for (size_t c = 0; c < kinds.size(); ++c) {
    TableColumn column{names[c], std::vector<std::string>()};
    // Of no rows nothing is known.
    if (count > 0 && !kinds[c].is_text()) column.values = Array(kinds[c].dtype(options.floats), Shape{count});
    columns.push_back(std::move(column));
  }
  int64_t row = header ? -1 : 0;
  for (Rows rows(text, options.separator, path); rows.next(fields); ++row) {
    if (row < 0) continue;
    for (size_t c = 0; c < fields.size(); ++c) {
      if (auto* array = std::get_if<Array>(&columns[c].values)) {
        store(*array, row, without_blanks(fields[c]));
      } else {
        check_utf8(rows, fields[c]);
        std::get<std::vector<std::string>>(columns[c].values).emplace_back(fields[c]);
      }
    }
  }
  return columns;
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
