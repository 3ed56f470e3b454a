// A replay buffer has the last rows that were appended, by name. Its own generator draws samples.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "interpreter/language/check.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/library/data/data_source.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"

namespace pxl {
namespace {

struct ReplayObject final : DataSetObject, Resumable {
  int64_t capacity;
  int64_t count = 0, oldest = 0;  ///< the number of rows, and the place of the first
  Random random;
  std::vector<std::pair<std::string, Array>> columns;  ///< with room for some rows, up to `capacity`

  ReplayObject(int64_t most, uint64_t seed) : capacity(most), random(seed) {}
  std::string type_name() const override { return "replay"; }
  std::string repr(Interpreter&) override { return fmt::format("<replay of {} rows of {}>", count, capacity); }
  std::optional<int64_t> length(Interpreter&) override { return count; }
  DataSourcePtr source() override {
    std::vector<std::pair<std::string, DataSourcePtr>> of;
    for (auto& [name, array] : in_order()) of.emplace_back(name, make_array_source(std::move(array)));
    if (of.empty())
      throw Error("the replay has no rows yet", {"`append(name = value, ...)` adds one"}).as(codes::value);
    return make_columns(std::move(of));
  }
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  std::function<void()> state() override {
    return [this, n = count, first = oldest, r = random, c = columns] {
      count = n, oldest = first, random = r, columns = c;
    };
  }
  void append(Interpreter& in, const Arguments& args);
  Value sample(int64_t n);
  std::vector<std::pair<std::string, Array>> saved() const override;
  void resume(Interpreter& in, const std::vector<std::pair<std::string, Array>>& arrays) override;

 private:
  /// The rows at these places; the oldest is 0.
  std::vector<std::pair<std::string, Array>> picked(const std::vector<int64_t>& rows) const;
  std::vector<std::pair<std::string, Array>> in_order() const {
    std::vector<int64_t> rows(static_cast<size_t>(count));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
    return picked(rows);
  }
  std::vector<Array> read(Interpreter& in, const Arguments& args) const;
  void make_room();
};

std::vector<std::pair<std::string, Array>> ReplayObject::picked(const std::vector<int64_t>& rows) const {
  std::vector<std::pair<std::string, Array>> out;
  for (const auto& [name, array] : columns) {
    const int64_t room = array.shape()[0];
    std::vector<int64_t> places;
    for (const int64_t row : rows) places.push_back((oldest + row) % room);
    out.emplace_back(name, make_array_source(array)->gather(places, Reader::script).arrays[0]);
  }
  return out;
}

/// The values of a row in the order of the columns.
std::vector<Array> ReplayObject::read(Interpreter& in, const Arguments& args) const {
  if (!args.positional.empty() || args.named.empty())
    throw Error("append takes the values of a row by name: `append(s = s, a = a)`").as(codes::arguments);
  std::vector<Array> values;
  if (columns.empty()) {
    for (const NamedArg& n : args.named) values.push_back(to_array(in, n.value));
    return values;
  }
  const auto given = [&](const std::string& name) { return std::ranges::find(args.named, name, &NamedArg::name); };
  std::vector<std::string> known, names;
  for (const auto& [name, array] : columns) known.push_back(name);
  for (const NamedArg& n : args.named) names.push_back(n.name);
  for (const auto& [name, array] : columns) {
    const auto found = given(name);
    if (found == args.named.end() || args.named.size() != columns.size())
      throw Error(
          fmt::format("append: a row has the names {}; got {}", join_texts(known, ", "), join_texts(names, ", ")))
          .as(codes::arguments);
    values.push_back(to_array(in, found->value, array.dtype(), fmt::format("append: `{}`", name)));
    const Shape row(array.shape().begin() + 1, array.shape().end());
    if (values.back().shape() != row)
      throw Error(fmt::format("append: `{}` is {} here and {} in the rows before", name, text(values.back().spec()),
                              text(TensorSpec{row, array.dtype(), {}})))
          .as(codes::value);
  }
  return values;
}

void ReplayObject::make_room() {
  constexpr int64_t first_room = 64;
  const int64_t room = columns[0].second.shape()[0];
  if (count < room || room == capacity) return;
  const int64_t more = std::min(capacity, std::max(first_room, room * 2));
  for (auto& [name, array] : columns) {
    Shape shape = array.shape();
    shape[0] = more;
    Array larger = Array::zeros(array.dtype(), std::move(shape));
    if (array.size() > 0) std::memcpy(larger.mutable_raw(), array.raw(), static_cast<size_t>(array.bytes()));
    array = std::move(larger);
  }
}

void ReplayObject::append(Interpreter& in, const Arguments& args) {
  const std::vector<Array> values = read(in, args);
  changing();
  if (columns.empty())
    for (size_t i = 0; i < values.size(); ++i) {
      Shape shape = values[i].shape();
      shape.insert(shape.begin(), 0);
      columns.emplace_back(args.named[i].name, Array(values[i].dtype(), std::move(shape)));
    }
  make_room();
  const bool full = count == columns[0].second.shape()[0];
  const int64_t place = full ? oldest : count;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bytes = static_cast<size_t>(values[i].bytes());
    if (bytes > 0)
      std::memcpy(columns[i].second.mutable_raw() + static_cast<size_t>(place) * bytes, values[i].raw(), bytes);
  }
  if (full)
    oldest = (oldest + 1) % capacity;
  else
    ++count;
}

Value ReplayObject::sample(int64_t n) {
  if (n < 1) throw Error(fmt::format("sample takes at least 1 row, not {}", n)).as(codes::value);
  if (count == 0)
    throw Error("sample: the replay has no rows yet", {"`append(name = value, ...)` adds one"}).as(codes::value);
  changing();
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < n; ++i) {
    charge(20);
    rows.push_back(random.below(count));
  }
  auto dict = make_ref<DictObject>();
  for (auto& [name, array] : picked(rows)) dict->put(Value(name), Value(std::move(array)));
  return Value(dict);
}

constexpr std::string_view row_prefix = "rows.";

std::vector<std::pair<std::string, Array>> ReplayObject::saved() const {
  std::vector<std::pair<std::string, Array>> out{{"capacity", Array::from<int64_t>({1}, std::span(&capacity, 1))},
                                                 {"generator", array_of(random)}};
  for (auto& [name, array] : in_order()) out.emplace_back(fmt::format("{}{}", row_prefix, name), std::move(array));
  return out;
}

void ReplayObject::resume(Interpreter&, const std::vector<std::pair<std::string, Array>>& arrays) {
  std::vector<std::pair<std::string, Array>> rows;
  const Array *most = nullptr, *generator = nullptr;
  for (const auto& [name, array] : arrays) {
    if (name == "capacity" && array.spec() == TensorSpec{{1}, DType::int64, {}}) most = &array;
    if (name == "generator") generator = &array;
    if (name.starts_with(row_prefix)) rows.emplace_back(name.substr(row_prefix.size()), array);
  }
  const bool fits = most && generator && std::ranges::all_of(rows, [&](const auto& row) {
                      return row.second.rank() > 0 && row.second.shape()[0] == rows[0].second.shape()[0] &&
                             row.second.shape()[0] <= capacity;
                    });
  if (!fits) throw Error("replay: what was saved is no state of a replay").as(codes::value);
  if (most->data<int64_t>()[0] != capacity)
    throw Error(fmt::format("replay: the state belongs to a replay with {} rows; this one has {}",
                            most->data<int64_t>()[0], capacity))
        .as(codes::value);
  Random from(0);
  resume_random(from, *generator, "replay");
  changing();
  random = from;
  count = rows.empty() ? 0 : rows[0].second.shape()[0];
  oldest = 0;
  columns = std::move(rows);
}

using ReplayRef = ReplayObject&;
constexpr Member<ReplayObject> replay_rows[] = {
    {"append", "(name = value, ...)",
     "Adds a row. The first row decides names, shapes and dtypes. A replay that is full drops its oldest row.",
     "memory.append(s = [0.5, 1.5], a = 1)\nlen(memory)",
     [](Interpreter& in, ReplayRef r, const Arguments& args) -> Value {
       r.append(in, args);
       return {};
     }},
    {"sample", "(n)", "A dict of n rows, stacked by name. They are drawn with replacement.",
     "memory.sample(3)[\"a\"].shape",
     [](Interpreter&, ReplayRef r, const Arguments& args) { return r.sample(ArgReader(args).integer("n")); }},
    {"state", "()", "The rows and the generator's state as a dict of arrays, which `save` writes.",
     "memory.state()[\"rows.a\"]",
     [](Interpreter&, ReplayRef r, const Arguments& args) {
       const ArgReader none(args);
       return state_value(r);
     }},
    {"resume", "(state)", "Takes rows and generator from a state. `session.restore` does so with `data`.",
     "memory.resume(memory.state())",
     [](Interpreter& in, ReplayRef r, const Arguments& args) -> Value {
       resume_from_value(in, r, ArgReader(args).value("state"), "replay: resume");
       return {};
     }},
};
constexpr std::span<const Member<ReplayObject>> replay_table(replay_rows);

std::optional<Value> ReplayObject::member(Interpreter& in, std::string_view name) {
  if (auto found = member_of_table(in, replay_table, *this, name)) return found;
  return DataSetObject::member(in, name);
}
std::vector<std::string> ReplayObject::member_names() const {
  std::vector<std::string> names = DataSetObject::member_names();
  append_names(names, replay_table);
  return names;
}

}  // namespace

MemberTable replay_members() {
  return member_table(
      "replay", "The last rows that were appended: `Replay(capacity)` of the module `data`. It is a data set too.",
      "from data import Replay\nmemory = Replay(100, seed = 1)\nmemory.append(s = [0.0, 1.0], a = 0)", replay_table);
}

void bind_replay_builtin(Scope& p) {
  define(p, no_effects, {"_replay(capacity, seed)", "A replay buffer: see the module data.", ""},
         [](Interpreter& in, const Arguments& args) -> Value {
           const ArgReader a("Replay", args, {"capacity", "seed"});
           const int64_t capacity = a.integer("capacity");
           if (capacity < 1)
             throw Error(fmt::format("Replay: the capacity is at least 1 row, not {}", capacity)).as(codes::value);
           if (check_in_progress(in)) return unknown_value();
           return make_ref<ReplayObject>(capacity, seed_given(in, a.value_or("seed", {}), "Replay"));
         });
}

}  // namespace pxl
