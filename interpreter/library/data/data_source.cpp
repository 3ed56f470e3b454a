#include "interpreter/library/data/data_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/values/arrays/array_copies.hpp"
#include "interpreter/values/arrays/arrays.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/tensor/random.hpp"

namespace pxl {
namespace {

bool are_adjacent(std::span<const int64_t> rows) {
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i] != rows[i - 1] + 1) return false;
  return true;
}

/// The first axis of an array.
class ArraySource final : public DataSource {
 public:
  explicit ArraySource(Array array) : array_(std::move(array)) {}
  int64_t size() const override { return array_.shape()[0]; }
  Gathered gather(std::span<const int64_t> rows, Reader by) const override { return {{picked(rows, by)}, true, {}}; }
  Value row(Interpreter& in, const Gathered& read, size_t k, int64_t) const override {
    return array_get(in, read.arrays[0], Value(static_cast<int64_t>(k)));
  }
  Value batch(Interpreter&, const Gathered& read, std::span<const int64_t>) const override { return read.arrays[0]; }

 private:
  Array picked(std::span<const int64_t> rows, Reader by) const {
    if (!rows.empty() && are_adjacent(rows)) return array_.rows(rows.front(), rows.back() + 1);
    Shape shape = array_.shape();
    shape[0] = static_cast<int64_t>(rows.size());
    Array out(array_.dtype(), std::move(shape));
    if (out.size() == 0) return out;
    const int64_t width = array_.size() / array_.shape()[0];
    const size_t bytes = static_cast<size_t>(width) * size_of(array_.dtype());
    std::byte* to = out.mutable_raw();
    if (by == Reader::script) {
      std::vector<int64_t> offsets(rows.begin(), rows.end());
      for (int64_t& offset : offsets) offset *= width;
      gather_charged(array_, offsets, {}, bytes, to);
    } else {
      for (const int64_t row : rows) {
        std::memcpy(to, array_.raw() + static_cast<size_t>(row) * bytes, bytes);
        to += bytes;
      }
    }
    return out;
  }
  Array array_;
};

class ListSource final : public DataSource {
 public:
  ListSource(Value list, std::vector<Value> items) : list_(std::move(list)), items_(std::move(items)) {}
  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  Gathered gather(std::span<const int64_t>, Reader) const override { return {}; }
  Value row(Interpreter&, const Gathered&, size_t, int64_t row) const override {
    return items_[static_cast<size_t>(row)];
  }
  Value batch(Interpreter&, const Gathered&, std::span<const int64_t> rows) const override {
    std::vector<Value> out;
    for (const int64_t row : rows) out.push_back(items_[static_cast<size_t>(row)]);
    return make_list(std::move(out));
  }
  void references(References& to) const override {
    to.add(list_);
    for (const Value& v : items_) to.add(v);
  }

 private:
  Value list_;
  std::vector<Value> items_;
};

class Columns final : public DataSource {
 public:
  explicit Columns(std::vector<std::pair<std::string, DataSourcePtr>> columns) : columns_(std::move(columns)) {}
  int64_t size() const override { return columns_.front().second->size(); }
  Gathered gather(std::span<const int64_t> rows, Reader by) const override {
    Gathered out;
    for (const auto& [name, column] : columns_) out.parts.push_back(column->gather(rows, by));
    return out;
  }
  Value row(Interpreter& in, const Gathered& read, size_t k, int64_t row) const override {
    return dict([&](const DataSource& column, size_t i) { return column.row(in, read.parts[i], k, row); });
  }
  Value batch(Interpreter& in, const Gathered& read, std::span<const int64_t> rows) const override {
    return dict([&](const DataSource& column, size_t i) { return column.batch(in, read.parts[i], rows); });
  }
  bool reads_files() const override {
    return std::ranges::any_of(columns_, [](const auto& c) { return c.second->reads_files(); });
  }
  bool is_mapped() const override {
    return std::ranges::any_of(columns_, [](const auto& c) { return c.second->is_mapped(); });
  }
  void references(References& to) const override {
    for (const auto& [name, column] : columns_) column->references(to);
  }

 private:
  template <class F>
  Value dict(F&& value_of) const {
    auto out = make_ref<DictObject>();
    for (size_t i = 0; i < columns_.size(); ++i) out->put(columns_[i].first, value_of(*columns_[i].second, i));
    return Value(out);
  }
  std::vector<std::pair<std::string, DataSourcePtr>> columns_;
};

class Selection final : public DataSource {
 public:
  Selection(DataSourcePtr of, std::vector<int64_t> rows) : of_(std::move(of)), rows_(std::move(rows)) {}
  int64_t size() const override { return static_cast<int64_t>(rows_.size()); }
  Gathered gather(std::span<const int64_t> rows, Reader by) const override { return of_->gather(there(rows), by); }
  Value row(Interpreter& in, const Gathered& read, size_t k, int64_t row) const override {
    return of_->row(in, read, k, rows_[static_cast<size_t>(row)]);
  }
  Value batch(Interpreter& in, const Gathered& read, std::span<const int64_t> rows) const override {
    return of_->batch(in, read, there(rows));
  }
  bool reads_files() const override { return of_->reads_files(); }
  bool is_mapped() const override { return of_->is_mapped(); }
  void references(References& to) const override { of_->references(to); }

 private:
  std::vector<int64_t> there(std::span<const int64_t> rows) const {
    std::vector<int64_t> out;
    for (const int64_t row : rows) out.push_back(rows_[static_cast<size_t>(row)]);
    return out;
  }
  DataSourcePtr of_;
  std::vector<int64_t> rows_;
};

class Mapped final : public DataSource {
 public:
  Mapped(DataSourcePtr of, Value f) : of_(std::move(of)), f_(std::move(f)) {}
  int64_t size() const override { return of_->size(); }
  Gathered gather(std::span<const int64_t> rows, Reader by) const override { return of_->gather(rows, by); }
  Value row(Interpreter& in, const Gathered& read, size_t k, int64_t row) const override {
    return invoke(in, f_, {of_->row(in, read, k, row)});
  }
  bool reads_files() const override { return of_->reads_files(); }
  Value batch(Interpreter& in, const Gathered& read, std::span<const int64_t> rows) const override {
    return read_rows(in, *this, read, rows, {});
  }
  bool is_mapped() const override { return true; }
  void references(References& to) const override {
    to.add(f_);
    of_->references(to);
  }

 private:
  DataSourcePtr of_;
  Value f_;
};

/// The script draws from this generator while the object lives, and then from its own again.
class DrawsOfRow {
 public:
  DrawsOfRow(Interpreter& in, uint64_t seed) : random_(host_of(in).random()), own_(random_) { random_.reseed(seed); }
  ~DrawsOfRow() { random_ = own_; }
  DrawsOfRow(const DrawsOfRow&) = delete;
  DrawsOfRow& operator=(const DrawsOfRow&) = delete;

 private:
  Random &random_, own_;
};

[[noreturn]] void refuse_rows(const std::string& first, const std::string& other, size_t k) {
  throw Error(fmt::format("rows of a batch differ: row 0 is {}, and row {} is {}", first, k, other),
              {"`.map(f)` can give all rows one shape and dtype: it pads, cuts or converts them"})
      .as(codes::value);
}

Value stacked_leaves(Interpreter& in, const std::vector<Value>& rows) {
  const bool numbers = std::ranges::all_of(rows, [](const Value& v) { return v.is_number(); });
  if (numbers) return to_array(in, make_list(rows));
  if (!rows[0].as_array()) return make_list(rows);
  std::vector<Array> arrays;
  for (size_t k = 0; k < rows.size(); ++k) {
    const Array* a = rows[k].as_array();
    if (!a) refuse_rows(text(rows[0].as_array()->spec()), with_article(rows[k].type_name()), k);
    if (a->spec() != rows[0].as_array()->spec()) refuse_rows(text(rows[0].as_array()->spec()), text(a->spec()), k);
    arrays.push_back(*a);
  }
  return stacked_arrays(arrays);
}

std::string paths_of(const std::vector<TreeLeaf>& leaves) {
  std::vector<std::string> paths;
  for (const auto& [path, value] : leaves) paths.push_back(path);
  return "[" + join_texts(paths, ", ") + "]";
}

}  // namespace

Array stacked_arrays(const std::vector<Array>& rows) {
  Shape shape = rows[0].shape();
  shape.insert(shape.begin(), static_cast<int64_t>(rows.size()));
  Array out(rows[0].dtype(), std::move(shape));
  if (out.size() == 0) return out;
  std::byte* to = out.mutable_raw();
  for (const Array& row : rows) {
    std::memcpy(to, row.raw(), static_cast<size_t>(row.bytes()));
    to += row.bytes();
  }
  return out;
}

uint64_t seed_of_part(uint64_t seed, uint64_t part) {
  const auto words =
      random_words({static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, RandomStream::seed, part);
  return uint64_t{words[1]} << 32 | words[0];
}

Value stacked(Interpreter& in, const std::vector<Value>& rows) {
  if (rows.empty()) return make_list({});
  if (!is_tree(rows[0])) return stacked_leaves(in, rows);
  std::vector<std::vector<Value>> columns;
  const std::vector<TreeLeaf> first = tree_leaves(in, rows[0]);
  columns.resize(first.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    const std::vector<TreeLeaf> leaves = is_tree(rows[k]) ? tree_leaves(in, rows[k]) : std::vector<TreeLeaf>();
    if (!std::ranges::equal(first, leaves, {}, &TreeLeaf::first, &TreeLeaf::first))
      refuse_rows("a tree of " + paths_of(first),
                  is_tree(rows[k]) ? "one of " + paths_of(leaves) : with_article(rows[k].type_name()), k);
    for (size_t i = 0; i < leaves.size(); ++i) columns[i].push_back(leaves[i].second);
  }
  size_t next = 0;
  return map_tree(in, rows[0], [&](const Value&, const std::string&) { return stacked_leaves(in, columns[next++]); });
}

Value read_rows(Interpreter& in, const DataSource& source, const Gathered& read, std::span<const int64_t> rows,
                std::optional<uint64_t> seed) {
  if (!source.is_mapped()) return source.batch(in, read, rows);
  std::vector<Value> values;
  for (size_t k = 0; k < rows.size(); ++k) {
    std::optional<DrawsOfRow> draws;
    if (seed) draws.emplace(in, seed_of_part(*seed, static_cast<uint64_t>(rows[k])));
    values.push_back(source.row(in, read, k, rows[k]));
  }
  return stacked(in, values);
}

DataSourcePtr make_array_source(Array rows) { return std::make_shared<ArraySource>(std::move(rows)); }
DataSourcePtr make_columns(std::vector<std::pair<std::string, DataSourcePtr>> columns) {
  return std::make_shared<Columns>(std::move(columns));
}
DataSourcePtr make_selection(DataSourcePtr of, std::vector<int64_t> rows) {
  return std::make_shared<Selection>(std::move(of), std::move(rows));
}
DataSourcePtr make_mapped(DataSourcePtr of, Value f) { return std::make_shared<Mapped>(std::move(of), std::move(f)); }

namespace {

DataSourcePtr source_of_dict(Interpreter& in, const DictObject& dict, const char* where) {
  if (dict.items.empty()) throw Error(fmt::format("{}: a dict without columns has no rows", where)).as(codes::value);
  std::vector<std::pair<std::string, DataSourcePtr>> columns;
  for (const auto& [key, value] : dict.items) {
    const std::string* name = key.as_string();
    if (!name)
      throw Error(fmt::format("{}: columns have names, and a key is {}", where, with_article(key.type_name())))
          .as(codes::type);
    columns.emplace_back(*name, source_of(in, value, where));
    const auto& [first, of_first] = columns.front();
    if (columns.back().second->size() != of_first->size())
      throw Error(fmt::format("{}: `{}` has {} rows, and `{}` has {}", where, first, of_first->size(), *name,
                              columns.back().second->size()))
          .as(codes::value);
  }
  return make_columns(std::move(columns));
}

}  // namespace

DataSourcePtr source_of(Interpreter& in, const Value& set, const char* where) {
  if (auto* object = set.as<DataSetObject>()) return object->source();
  if (const auto* dict = set.as<DictObject>()) return source_of_dict(in, *dict, where);
  if (const Array* array = set.as_array()) {
    if (array->rank() == 0) throw Error(fmt::format("{}: an array of no axes has no rows", where)).as(codes::value);
    return make_array_source(*array);
  }
  if (set.as<SequenceObject>() || set.as<RangeObject>()) return std::make_shared<ListSource>(set, elements_of(in, set));
  throw Error(fmt::format("{}: a data set is an array, a dict of arrays, a list, or what `dataset` or `files` returns; "
                          "got {}",
                          where, with_article(set.type_name())))
      .as(codes::type);
}

}  // namespace pxl
