// Data sets: rows that are read by position, from arrays, dicts, lists and files. A batch takes two steps. Threads read
// rows (`gather`), and the script's thread makes values of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "interpreter/values/cycles.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/kernels/random/draws.hpp"

namespace pxl {

/// The contents of some rows, without values of the host.
struct Gathered {
  std::vector<Array> arrays;    ///< one with a first axis for the rows, or one for each row
  bool stacked = false;         ///< whether it is one for all rows
  std::vector<Gathered> parts;  ///< of a dict, by column
};

enum class Reader : uint8_t { script, thread };

class DataSource {
 public:
  DataSource() = default;
  DataSource(const DataSource&) = delete;
  DataSource& operator=(const DataSource&) = delete;
  virtual ~DataSource() = default;
  virtual int64_t size() const = 0;
  /// Reads rows, which exist. Several threads may call it.
  virtual Gathered gather(std::span<const int64_t> rows, Reader by) const = 0;
  /// The value of row `row`, number k of the gathered rows.
  virtual Value row(Interpreter& in, const Gathered& read, size_t k, int64_t row) const = 0;
  /// The value of all gathered rows, as a slice of the set has it.
  virtual Value batch(Interpreter& in, const Gathered& read, std::span<const int64_t> rows) const = 0;
  virtual bool reads_files() const { return false; }
  virtual bool is_mapped() const { return false; }  ///< whether a function of the script returns the rows
  virtual void references(References&) const {}
};
using DataSourcePtr = std::shared_ptr<const DataSource>;

/// The rows of a data set as a source. Throws Error, which begins with `where`, for other values and for columns of
/// different lengths.
DataSourcePtr source_of(Interpreter& in, const Value& set, const char* where);

DataSourcePtr make_columns(std::vector<std::pair<std::string, DataSourcePtr>> columns);
DataSourcePtr make_array_source(Array rows);
/// Some rows of another source, by position.
DataSourcePtr make_selection(DataSourcePtr of, std::vector<int64_t> rows);
/// The rows that `f` returns for the rows of another source.
DataSourcePtr make_mapped(DataSourcePtr of, Value f);

/// The value of gathered rows. If a seed is given, it and the row alone decide what the script draws for a row.
Value read_rows(Interpreter& in, const DataSource& source, const Gathered& read, std::span<const int64_t> rows,
                std::optional<uint64_t> seed);
/// A seed made from a seed and a number: the seed of an epoch, then that of a row.
uint64_t seed_of_part(uint64_t seed, uint64_t part);
/// Rows of equal structure as one value: arrays and numbers as arrays with a further axis, other values as a list.
Value stacked(Interpreter& in, const std::vector<Value>& rows);
/// Arrays of one spec as one array. There is at least one.
Array stacked_arrays(const std::vector<Array>& rows);

/// A value that is a data set: it has a length, an index, `map` and `load`.
struct DataSetObject : Object {
  virtual DataSourcePtr source() = 0;
  std::string type_name() const override { return "dataset"; }
  std::string repr(Interpreter& in) override;
  std::optional<int64_t> length(Interpreter&) override { return source()->size(); }
  Value index(Interpreter& in, const Value& key) override;
  std::optional<Iterator> iterate(Interpreter& in) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
};
Value data_set(DataSourcePtr source);

/// An object that can be saved and resumed as arrays by name: positions, generators, rows.
struct Resumable {
  virtual ~Resumable() = default;
  virtual std::vector<std::pair<std::string, Array>> saved() const = 0;
  /// Throws Error, and changes nothing, for arrays that another object saved.
  virtual void resume(Interpreter& in, const std::vector<std::pair<std::string, Array>>& arrays) = 0;
};
/// Null for other values.
Resumable* as_resumable(const Value& v);
/// Converts a state to a dict of arrays, and back.
Value state_value(const Resumable& of);
void resume_from_value(Interpreter& in, Resumable& to, const Value& state, const char* where);

/// The seed: a given int, or a draw of the script's generator for none.
uint64_t seed_given(Interpreter& in, const Value& given, const char* where);
/// Converts a generator's state to an array, and back.
Array array_of(const Random& random);
void resume_random(Random& random, const Array& state, const char* where);

}  // namespace pxl
