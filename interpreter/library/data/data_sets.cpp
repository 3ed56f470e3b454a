// Data sets as values: `dataset`, and `files`, whose rows are read when they are needed. Also states that are saved.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>

#include "interpreter/language/check.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/library/data/data_source.hpp"
#include "interpreter/library/formats.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/subscripts.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"

namespace pxl {
namespace {

/// Files with an array each.
class Files final : public DataSource {
 public:
  using Read = Array (*)(const std::string& path);
  Files(std::vector<std::string> paths, std::vector<Read> readers)
      : paths_(std::move(paths)), readers_(std::move(readers)) {}
  int64_t size() const override { return static_cast<int64_t>(paths_.size()); }
  Gathered gather(std::span<const int64_t> rows, Reader) const override {
    Gathered out;
    for (const int64_t row : rows) {
      const auto i = static_cast<size_t>(row);
      out.arrays.push_back(readers_[i](paths_[i]));
    }
    const auto differs = [&](const Array& a) { return a.spec() != out.arrays[0].spec(); };
    out.stacked = !rows.empty() && std::ranges::none_of(out.arrays, differs);
    if (out.stacked) out.arrays = {stacked_arrays(out.arrays)};
    return out;
  }
  Value row(Interpreter&, const Gathered& read, size_t k, int64_t) const override {
    if (!read.stacked) return read.arrays[k];
    const auto at = static_cast<int64_t>(k);
    const Shape& shape = read.arrays[0].shape();
    return read.arrays[0].rows(at, at + 1).reshaped(Shape(shape.begin() + 1, shape.end()));
  }
  Value batch(Interpreter&, const Gathered& read, std::span<const int64_t> rows) const override {
    if (read.stacked) return read.arrays[0];
    for (size_t k = 1; k < rows.size(); ++k)
      if (read.arrays[k].spec() != read.arrays[0].spec())
        throw Error(fmt::format("rows of a batch differ: {} is {}, and {} is {}", path(rows[0]),
                                text(read.arrays[0].spec()), path(rows[k]), text(read.arrays[k].spec())),
                    {"`.map(f)` can give all rows one shape and dtype: it pads, cuts or converts them"})
            .as(codes::value);
    return make_list({});
  }
  bool reads_files() const override { return true; }

 private:
  const std::string& path(int64_t row) const { return paths_[static_cast<size_t>(row)]; }
  std::vector<std::string> paths_;
  std::vector<Read> readers_;
};

Value files(Interpreter& in, const Arguments& args) {
  const ArgReader a("files", args, {"paths"});
  if (check_in_progress(in) && !permits(Effect::reads_files)) return unknown_value();
  std::vector<std::string> paths;
  std::vector<Files::Read> readers;
  std::map<std::string, Files::Read> by_suffix;
  for (const Value& v : elements_of(in, a.value("paths"))) {
    const std::string* path = v.as_string();
    if (!path) throw Error(fmt::format("files: a path is a str, got {}", with_article(v.type_name()))).as(codes::type);
    const auto [known, is_new] = by_suffix.emplace(std::filesystem::path(*path).extension().string(), nullptr);
    if (is_new) known->second = format_to_read("files", *path).read;
    if (!known->second)
      throw Error(fmt::format("files: `{}` does not hold one array", *path),
                  {"a row is an array of a .npy file, or an image; `dataset(paths).map(load)` reads other files"})
          .as(codes::value);
    paths.push_back(*path);
    readers.push_back(known->second);
  }
  return data_set(std::make_shared<Files>(std::move(paths), std::move(readers)));
}

struct SourceObject final : DataSetObject {
  DataSourcePtr of;
  explicit SourceObject(DataSourcePtr source) : of(std::move(source)) {}
  DataSourcePtr source() override { return of; }
  void references(References& to) const override { of->references(to); }
};

Value dataset(Interpreter& in, const Arguments& args) {
  const Value of = ArgReader("dataset", args, {"of"}).value("of");
  if (check_in_progress(in) && (is_unknown(of) || holds_unknown(of))) return unknown_value();
  return data_set(source_of(in, of, "dataset"));
}

std::vector<int64_t> all_rows(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

Value row_of(Interpreter& in, const DataSource& source, int64_t row) {
  const int64_t rows[] = {row};
  return source.row(in, source.gather(rows, Reader::script), 0, row);
}

constexpr Member<DataSetObject> set_rows[] = {
    {"map", "(f)",
     "The data set whose rows are what `f` returns for the rows of this one. `f` runs on the script's thread, in "
     "order; "
     "in a pass of batches, what it draws depends on seed, epoch and row alone.",
     "points.map(row => row[\"x\"] * 2)[1]",
     [](Interpreter&, DataSetObject& set, const Arguments& args) {
       const Value f = ArgReader("map", args, {"f"}).value("f");
       if (!can_be_called(f)) type_error("map takes a function of a row, got " + with_article(f.type_name()));
       return data_set(make_mapped(set.source(), f));
     }},
    {"load", "()", "All rows as one value: an array, or a dict of arrays.", "points[:2].load()",
     [](Interpreter& in, DataSetObject& set, const Arguments& args) {
       ArgReader("load", args, {});
       const DataSourcePtr source = set.source();
       const std::vector<int64_t> rows = all_rows(source->size());
       return read_rows(in, *source, source->gather(rows, Reader::script), rows, {});
     }},
};
constexpr std::span<const Member<DataSetObject>> set_table(set_rows);

}  // namespace

MemberTable dataset_members() {
  return member_table("dataset",
                      "Rows that are read when they are needed: `dataset(...)`, `files(...)` and `Replay(...)` of the "
                      "module `data`, and `mnist().train`. An int selects a row; a slice or a list of ints selects a "
                      "data set.",
                      "from data import dataset\npoints = dataset({\"x\": arange(4), \"y\": arange(4) * 10})",
                      set_table);
}

Value data_set(DataSourcePtr source) { return make_ref<SourceObject>(std::move(source)); }

std::string DataSetObject::repr(Interpreter&) { return fmt::format("<dataset of {} rows>", source()->size()); }

Value DataSetObject::index(Interpreter& in, const Value& key) {
  const DataSourcePtr source = this->source();
  const int64_t size = source->size();
  if (const auto* slice = key.as<SliceObject>()) {
    const SliceRange range = resolve_slice(*slice, size);
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < range.count; ++i) rows.push_back(range.start + i * range.step);
    return data_set(make_selection(source, std::move(rows)));
  }
  const Array* array = key.as_array();
  if ((array && array->rank() == 1) || key.as<ListObject>()) {
    std::vector<int64_t> rows;
    for (const Value& v : elements_of(in, key))
      rows.push_back(wrap_index(element_index(v, "a data set"), size, "a data set"));
    return data_set(make_selection(source, std::move(rows)));
  }
  return row_of(in, *source, wrap_index(element_index(key, "a data set"), size, "a data set"));
}

std::optional<Iterator> DataSetObject::iterate(Interpreter& in) {
  return Iterator([&in, source = source(), i = int64_t{0}](Value& out) mutable {
    if (i >= source->size()) return false;
    out = row_of(in, *source, i++);
    return true;
  });
}

std::optional<Value> DataSetObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, set_table, *this, name);
}
std::vector<std::string> DataSetObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, set_table);
  return names;
}

// ---- states

Resumable* as_resumable(const Value& v) { return v.is_object() ? dynamic_cast<Resumable*>(v.object().get()) : nullptr; }

Value state_value(const Resumable& of) {
  auto dict = make_ref<DictObject>();
  for (auto& [name, array] : of.saved()) dict->put(Value(name), Value(std::move(array)));
  return Value(dict);
}

void resume_from_value(Interpreter& in, Resumable& to, const Value& state, const char* where) {
  const auto* dict = state.as<DictObject>();
  if (!dict)
    throw Error(fmt::format("{} takes what `state()` returned, got {}", where, with_article(state.type_name())))
        .as(codes::type);
  std::vector<std::pair<std::string, Array>> arrays;
  for (const auto& [key, value] : dict->items)
    if (const std::string* name = key.as_string()) arrays.emplace_back(*name, to_array(in, value));
  to.resume(in, arrays);
}

uint64_t seed_given(Interpreter& in, const Value& given, const char* where) {
  if (given.is_int()) return given.is_natural() ? given.as_natural() : static_cast<uint64_t>(given.as_int());
  if (!given.is_none()) type_error(fmt::format("{}: seed is an int, got {}", where, with_article(given.type_name())));
  const uint64_t high = host_of(in).random().bits();
  return high << 32 | host_of(in).random().bits();
}

Array array_of(const Random& random) {
  const Random::State state = random.state();
  return Array::from<uint64_t>({static_cast<int64_t>(state.size())}, state);
}

void resume_random(Random& random, const Array& array, const char* where) {
  Random::State state{};
  if (array.dtype() != DType::uint64 || array.shape() != Shape{static_cast<int64_t>(state.size())})
    throw Error(fmt::format("{}: the state of a generator is uint64[{}], as `random_state()` returns it; got {}", where,
                            state.size(), text(array.spec())))
        .as(codes::value);
  std::copy_n(array.data<uint64_t>(), state.size(), state.begin());
  coded(codes::value, [&] { random.resume(state); });
}

void bind_data_set_builtins(Scope& p) {
  define(p, no_effects, {"_dataset(of)", "A data set: see the module data.", ""}, dataset);
  define(p, no_effects, {"_files(paths)", "Files as a data set: see the module data.", ""}, files);
}

}  // namespace pxl
