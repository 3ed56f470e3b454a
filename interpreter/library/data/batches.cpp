#include "interpreter/library/data/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "interpreter/language/check.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/threads/in_order.hpp"
#include "runtime/base/threads/thread_pool.hpp"

namespace pxl {
namespace {

/// One pass over the rows, from the batch `position` on.
struct Pass {
  std::vector<int64_t> rows;
  int64_t size = 0;  ///< of a batch
  int64_t epoch = 0, position = 0;
  bool has_ended = false;
  std::unique_ptr<InOrder<Gathered>> ahead;  ///< null if the script's thread reads

  std::span<const int64_t> batch(int64_t number) const {
    const auto begin = static_cast<size_t>(number * size);
    return std::span(rows).subspan(begin, std::min(static_cast<size_t>(size), rows.size() - begin));
  }
};

/// An array with zeros after its rows.
Array padded_rows(const Array& a, int64_t rows) {
  Shape shape = a.shape();
  shape[0] = rows;
  Array out = Array::zeros(a.dtype(), std::move(shape));
  if (a.size() > 0) std::memcpy(out.mutable_raw(), a.raw(), static_cast<size_t>(a.bytes()));
  return out;
}

Value padded_batch(const Value& batch, int64_t rows) {
  if (const Array* a = batch.as_array(); a && a->rank() > 0) return a->shape()[0] == rows ? *a : padded_rows(*a, rows);
  const auto* dict = batch.as<DictObject>();
  if (!dict)
    throw Error(
        fmt::format("batches: last = \"pad\" fills arrays with zeros; a column is {}", with_article(batch.type_name())))
        .as(codes::value);
  auto out = make_ref<DictObject>();
  for (const auto& [name, column] : dict->items) out->put(name, padded_batch(column, rows));
  return Value(out);
}

struct BatchesObject final : Object, Resumable {
  DataSourcePtr set;
  BatchesOptions options;
  int64_t epoch = 0, position = 0;  ///< the pass that has begun or comes next, and how many of its batches were taken
  bool is_resumed = false;          ///< the next pass begins at `position`
  Random order{0};                  ///< before it has drawn the rows of the pass

  BatchesObject(DataSourcePtr s, const BatchesOptions& o) : set(std::move(s)), options(o) {}
  std::string type_name() const override { return "batches"; }
  std::string repr(Interpreter&) override { return fmt::format("<{} batches of {}>", count(), options.size); }
  std::optional<int64_t> length(Interpreter&) override { return count(); }
  std::optional<Iterator> iterate(Interpreter& in) override;
  std::optional<Value> member(Interpreter& in, std::string_view name) override;
  std::vector<std::string> member_names() const override;
  void references(References& to) const override { set->references(to); }
  std::function<void()> state() override {
    return [this, e = epoch, p = position, r = is_resumed, o = order, s = options.seed] {
      epoch = e, position = p, is_resumed = r, order = o, options.seed = s;
    };
  }
  std::vector<std::pair<std::string, Array>> saved() const override;
  void resume(Interpreter& in, const std::vector<std::pair<std::string, Array>>& arrays) override;

 private:
  int64_t count() const {
    return options.last == LastBatch::drop ? set->size() / options.size
                                           : (set->size() + options.size - 1) / options.size;
  }
  std::shared_ptr<Pass> begin_pass(Interpreter& in);
  Value next(Interpreter& in, Pass& pass);
  void at(int64_t e, int64_t p) {
    changing();
    epoch = e;
    position = p;
  }
};

std::shared_ptr<Pass> BatchesObject::begin_pass(Interpreter& in) {
  if (!is_resumed) {
    at(position > 0 ? epoch + 1 : epoch, 0);
    if (options.order == RowOrder::of_seed) order.reseed(seed_of_part(options.seed, static_cast<uint64_t>(epoch)));
    if (options.order == RowOrder::drawn) order = host_of(in).random();
  }
  changing();
  is_resumed = false;
  auto pass = std::make_shared<Pass>();
  pass->size = options.size;
  pass->epoch = epoch;
  pass->position = position;
  if (options.order == RowOrder::as_is) {
    pass->rows.resize(static_cast<size_t>(set->size()));
    std::iota(pass->rows.begin(), pass->rows.end(), int64_t{0});
  } else {
    Random draws = order;
    const Array rows = draws.permutation(set->size());
    pass->rows.assign(rows.data<int64_t>(), rows.data<int64_t>() + rows.size());
    if (options.order == RowOrder::drawn && position == 0) host_of(in).random() = draws;
  }
  const int64_t threads = std::min<int64_t>(options.prefetch, std::max(1, thread_pool().size() / 2));
  if (set->reads_files() && threads > 0)
    pass->ahead = std::make_unique<InOrder<Gathered>>(
        pass->position, count(), options.prefetch, static_cast<int>(threads),
        [source = set, all = pass.get()](int64_t batch) { return source->gather(all->batch(batch), Reader::thread); });
  return pass;
}

Value BatchesObject::next(Interpreter& in, Pass& pass) {
  const std::span<const int64_t> rows = pass.batch(pass.position);
  const Gathered read = pass.ahead ? pass.ahead->next() : set->gather(rows, Reader::script);
  Value batch = read_rows(in, *set, read, rows, seed_of_part(options.seed, static_cast<uint64_t>(pass.epoch)));
  if (options.last == LastBatch::pad) {
    batch = padded_batch(batch, options.size);
    auto* dict = batch.as<DictObject>();
    if (!dict || dict->find(Value("rows")))
      throw Error(dict ? "batches: last = \"pad\" adds `rows`, which the data set has already"
                       : "batches: last = \"pad\" adds `rows` to a dict, and this data set has no names",
                  {"a dict of arrays by the names of streams has both: `{\"x\": xs, \"y\": ys}`"})
          .as(codes::value);
    dict->put(Value("rows"), Array::scalar(static_cast<int32_t>(rows.size())));
  }
  if (options.as_tuple) {
    std::vector<Value> columns;
    for (const auto& [name, column] : batch.as<DictObject>()->items) columns.push_back(column);
    batch = make_tuple(std::move(columns));
  }
  ++pass.position;
  at(pass.epoch, pass.position);
  return batch;
}

std::optional<Iterator> BatchesObject::iterate(Interpreter& in) {
  auto self = static_ref_cast<BatchesObject>(shared_from_this());
  return Iterator([self, &in, pass = begin_pass(in)](Value& out) {
    if (pass->has_ended) return false;
    if (pass->position == self->count()) {
      pass->has_ended = true;
      self->at(std::max(self->epoch, pass->epoch + 1), 0);
      return false;
    }
    out = self->next(in, *pass);
    return true;
  });
}

std::vector<std::pair<std::string, Array>> BatchesObject::saved() const {
  const int64_t place[] = {set->size(), options.size, epoch, position};
  const uint64_t seed[] = {options.seed};
  return {{"position", Array::from<int64_t>({4}, place)},
          {"seed", Array::from<uint64_t>({1}, seed)},
          {"order", array_of(order)}};
}

void BatchesObject::resume(Interpreter&, const std::vector<std::pair<std::string, Array>>& arrays) {
  const auto find = [&](std::string_view name, const TensorSpec& spec) -> const Array& {
    for (const auto& [found, array] : arrays)
      if (found == name && array.spec() == spec) return array;
    throw Error(fmt::format("batches: what was saved is no position of batches: it has no `{}`", name))
        .as(codes::value);
  };
  const Array &place = find("position", {{4}, DType::int64, {}}), &seed = find("seed", {{1}, DType::uint64, {}});
  const Array& drawn = find("order", array_of(order).spec());
  const int64_t* at = place.data<int64_t>();
  if (at[0] != set->size() || at[1] != options.size)
    throw Error(fmt::format("batches: the position was saved for batches of {} of {} rows; these are {} of {}", at[1],
                            at[0], options.size, set->size()),
                {"a pass goes on with the same data set and size"})
        .as(codes::value);
  if (at[2] < 0 || at[3] < 0 || at[3] > count())
    throw Error("batches: what was saved is no position of batches").as(codes::value);
  Random saved_order(0);
  resume_random(saved_order, drawn, "batches");
  changing();
  order = saved_order;
  options.seed = seed.data<uint64_t>()[0];
  epoch = at[2];
  position = at[3];
  is_resumed = position > 0;
}

using BatchesRef = BatchesObject&;
constexpr Member<BatchesObject> batches_rows[] = {
    {"epoch", "The number of passes that have ended. During a pass it is the number of this pass, from 0 on.",
     "loader.epoch", [](Interpreter&, BatchesRef b) -> std::optional<Value> { return Value(b.epoch); }},
    {"position", "How many batches of the pass were taken, with the one in use.", "loader.position",
     [](Interpreter&, BatchesRef b) -> std::optional<Value> { return Value(b.position); }},
    {"state", "()", "The position, the seed and the order of the pass as a dict of arrays, which `save` writes.",
     "loader.state()[\"position\"]",
     [](Interpreter&, BatchesRef b, const Arguments& args) {
       const ArgReader none(args);
       return state_value(b);
     }},
    {"resume", "(state)",
     "The next pass goes on where the state was taken, with the same rows in the same order. `session.save` and "
     "`session.restore` take batches, too: `data = {\"train\": loader}`.",
     "loader.resume(loader.state())",
     [](Interpreter& in, BatchesRef b, const Arguments& args) -> Value {
       resume_from_value(in, b, ArgReader(args).value("state"), "batches: resume");
       return {};
     }},
};
constexpr std::span<const Member<BatchesObject>> batches_table(batches_rows);

std::optional<Value> BatchesObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, batches_table, *this, name);
}
std::vector<std::string> BatchesObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, batches_table);
  return names;
}

// ---- the function

LastBatch last_of(const std::string& text) {
  constexpr std::pair<std::string_view, LastBatch> words[] = {
      {"keep", LastBatch::keep}, {"drop", LastBatch::drop}, {"pad", LastBatch::pad}};
  std::vector<std::string> known;
  for (const auto& [word, last] : words) {
    if (word == text) return last;
    known.emplace_back(word);
  }
  const std::string hint = did_you_mean(text, known);
  throw Error(fmt::format("batches: last is \"keep\", \"drop\" or \"pad\", not \"{}\"{}", text,
                          hint.empty() ? "" : "; " + hint))
      .as(codes::value);
}

void check_size(int64_t size) {
  if (size < 1) throw run_error(fmt::format("batches: the size must be at least 1, not {}", size)).as(codes::value);
}

/// A batch in a look: its arrays are unknown, and their specs are known if all batches have the same specs.
Value look_at_batch(const Value& set, const BatchesOptions& options) {
  const Array* known = set.as_array();
  if (const auto spec = known ? std::optional(known->spec()) : unknown_spec(set); spec && !spec->shape.empty()) {
    if (options.last == LastBatch::keep && spec->shape[0] % options.size != 0) return unknown_value();
    Shape shape = spec->shape;
    shape[0] = options.size;
    return unknown_array(std::move(shape), spec->dtype);
  }
  const auto* dict = set.as<DictObject>();
  if (!dict) return unknown_value();
  auto out = make_ref<DictObject>();
  for (const auto& [name, column] : dict->items) out->put(name, look_at_batch(column, options));
  if (options.last == LastBatch::pad) out->put(Value("rows"), unknown_array(Shape{}, DType::int32));
  return Value(out);
}

Value batches(Interpreter& in, const Arguments& args) {
  const ArgReader a("batches", args, {"set", "size", "shuffle", "seed", "last", "prefetch"});
  BatchesOptions options;
  options.size = a.integer("size");
  check_size(options.size);
  options.last = last_of(a.string_or("last", "keep"));
  const bool shuffle = a.boolean_or("shuffle", false);
  if (shuffle) options.order = RowOrder::of_seed;
  options.prefetch = a.integer_or("prefetch", 2);
  constexpr int64_t most = 1024;
  if (options.prefetch < 0 || options.prefetch > most)
    throw Error(fmt::format("batches: prefetch is from 0 to {} batches, not {}", most, options.prefetch))
        .as(codes::value);
  const Value set = a.value("set"), seed = a.value_or("seed", {});
  if (options.last == LastBatch::pad && set.as_array())
    throw Error("batches: last = \"pad\" adds `rows` to a dict, and an array has no names",
                {"a dict by the name of the stream has both: `{\"x\": xs}`"})
        .as(codes::value);
  if (check_in_progress(in)) {
    if (!holds_unknown(set) && !is_unknown(set)) make_batches(source_of(in, set, "batches"), options);
    auto looked = make_ref<UnknownObject>();
    looked->element = look_at_batch(set, options);
    return Value(looked);
  }
  const DataSourcePtr source = source_of(in, set, "batches");
  if (!seed.is_none() || shuffle || source->is_mapped()) options.seed = seed_given(in, seed, "batches");
  return make_batches(source, options);
}

}  // namespace

Value make_batches(DataSourcePtr set, const BatchesOptions& options) {
  check_size(options.size);
  if (options.last == LastBatch::drop && set->size() < options.size)
    throw run_error(
        fmt::format("batches: no batch of {} fits {} rows", options.size, set->size()),
        {"the rows that there are make one batch if they are kept: `last = \"keep\"`, for mnist `drop_last = false`"})
        .as(codes::value);
  return make_ref<BatchesObject>(std::move(set), options);
}

MemberTable batches_members() {
  return member_table("batches",
                      "The batches of a data set: `batches(set, size)` of the module `data`. Each iteration is a pass.",
                      "from data import batches\nloader = batches(arange(10), 4)", batches_table);
}

void bind_batches_builtin(Scope& p) {
  define(p, no_effects,
         {"_batches(set, size, shuffle, seed, last, prefetch)", "Batches of a data set: see the module data.", ""},
         batches);
}

}  // namespace pxl
