// mnist(): images and labels as an object with `train` and `test`, and batches of pairs.
#include <fmt/format.h>

#include "interpreter/language/check.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/library/data/batches.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/notices.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/io/dataset.hpp"

namespace pxl {

namespace {

struct DigitSetObject final : DataSetObject {
  DigitSet set;
  explicit DigitSetObject(DigitSet s) : set(std::move(s)) {}
  DataSourcePtr source() override {
    return make_columns({{"image", make_array_source(set.images)}, {"label", make_array_source(set.labels)}});
  }
  std::string repr(Interpreter&) override { return fmt::format("<{} digits>", set.labels.size()); }
  std::vector<std::string> member_names() const override {
    std::vector<std::string> names = DataSetObject::member_names();
    names.insert(names.end(), {"images", "labels", "batches"});
    return names;
  }
  std::optional<Value> member(Interpreter& in, std::string_view name) override {
    if (name == "images") return Value(set.images);
    if (name == "labels") return Value(set.labels);
    if (name != "batches") return DataSetObject::member(in, name);
    return make_method(no_effects, "batches",
                       [self = static_ref_cast<DigitSetObject>(shared_from_this())](
                           Interpreter& inner, const Arguments& args) { return self->batches(inner, args); });
  }

 private:
  Value batches(Interpreter& in, const Arguments& args) {
    const ArgReader a("batches", args, {"size", "shuffle", "drop_last"});
    BatchesOptions options;
    options.size = a.integer("size");
    options.as_tuple = true;
    if (a.boolean_or("shuffle", false)) options.order = RowOrder::drawn;
    if (a.boolean_or("drop_last", true)) options.last = LastBatch::drop;
    if (options.size >= 1 && set.labels.size() % options.size != 0 && options.size <= set.labels.size() &&
        a.value_or("drop_last", {}).is_none())
      notice_once(in, Notice::batches,
                  fmt::format("batches of {} leave out the last {} of {}: `drop_last = true` says so, false keeps them",
                              options.size, set.labels.size() % options.size, set.labels.size()));
    return make_batches(source(), options);
  }
};

struct MnistObject final : Object {
  Value train, test;
  std::string source;
  std::string type_name() const override { return "dataset"; }
  std::string repr(Interpreter& in) override {
    return fmt::format("<mnist from {}: train {}, test {}>", source, repr_of(in, train), repr_of(in, test));
  }
  std::vector<std::string> member_names() const override { return {"train", "test", "source"}; }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (name == "train") return train;
    if (name == "test") return test;
    if (name == "source") return Value(source);
    return std::nullopt;
  }
};

/// A set in a look: the numbers of images are unknown, but the specs of batches are known.
struct UnreadSetObject final : DataSetObject {
  DataSourcePtr source() override { throw Unevaluated{}; }
  std::string repr(Interpreter&) override { return "<digits>"; }
  std::vector<std::string> member_names() const override { return {"images", "labels", "batches"}; }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (name == "map" || name == "load" || name == "images" || name == "labels") return unknown_value();
    if (name != "batches") return std::nullopt;
    return make_method(no_effects, "batches", [](Interpreter&, const Arguments& args) -> Value {
      ArgReader a("batches", args, {"size", "shuffle", "drop_last"});
      const int64_t size = a.integer("size");
      if (size < 1) throw run_error(fmt::format("batches: the size must be at least 1, not {}", size));
      auto batches = make_ref<UnknownObject>();
      if (a.boolean_or("drop_last", true))
        batches->element =
            make_tuple({unknown_array(Shape{size, 28, 28}, DType::float32), unknown_array(Shape{size}, DType::int32)});
      return batches;
    });
  }
};

struct UnreadMnistObject final : Object {
  std::string type_name() const override { return "dataset"; }
  std::string repr(Interpreter&) override { return "<mnist>"; }
  std::vector<std::string> member_names() const override { return {"train", "test", "source"}; }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (name == "train" || name == "test") return make_ref<UnreadSetObject>();
    if (name == "source") return unknown_value();
    return std::nullopt;
  }
};

DigitSet limited(const DigitSet& set, int64_t most) {
  if (most >= set.labels.size()) return set;
  return {set.images.rows(0, most), set.labels.rows(0, most)};
}

Value mnist(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const int64_t train = a.integer("train"), test = a.integer("test");
  if (train < 1 || test < 1 || train > 10000000 || test > 10000000) {
    throw run_error("mnist: the sizes must be from 1 to 10000000");
  }
  if (!permits(Effect::reads_files)) return make_ref<UnreadMnistObject>();
  const Mnist data = load_mnist(train, test);
  auto o = make_ref<MnistObject>();
  o->source = data.source;
  o->train = make_ref<DigitSetObject>(limited(data.train, train));
  o->test = make_ref<DigitSetObject>(limited(data.test, test));
  host_of(in).notice(data.built_in ? "mnist: drawing the built-in digits (MNIST was not found, or PXL_DATA says so)\n"
                                   : "mnist: read from files; the data set's `source` names their folder\n");
  return o;
}

}  // namespace

void bind_mnist_builtin(Scope& p) {
  define(p, {Effect::reads_files, Effect::reads_environment, Effect::prints},
         {"mnist(train = 60000, test = 10000)",
          "The MNIST digits where their files are found, otherwise digits drawn by a built-in generator.",
          R"(data = mnist(100, 10)
len(list(data.train.batches(25))))"},
         mnist, InLook::calls_body);
}

}  // namespace pxl
