// mnist(): images and labels as an object with `train` and `test`, and batches of pairs.
#include <fmt/format.h>

#include <cstring>

#include "interpreter/language/check.hpp"
#include "interpreter/library/builtins.hpp"
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

/// The batches of one pass; each iteration draws a new order if it shuffles.
struct BatchesObject final : Object {
  DigitSet set;
  int64_t size;
  bool shuffle, drop_last;
  BatchesObject(DigitSet d, int64_t n, bool s, bool drop) : set(std::move(d)), size(n), shuffle(s), drop_last(drop) {}
  std::string type_name() const override { return "batches"; }
  std::string repr(Interpreter&) override { return fmt::format("<{} batches of {}>", count(), size); }
  int64_t count() const {
    const int64_t n = set.labels.size();
    return drop_last ? n / size : (n + size - 1) / size;
  }
  std::optional<int64_t> length(Interpreter&) override { return count(); }

  std::optional<Iterator> iterate(Interpreter& in) override {
    Array order;
    if (shuffle) order = host_of(in).random().permutation(set.labels.size());
    auto self = static_ref_cast<BatchesObject>(shared_from_this());
    return Iterator([self, order = std::move(order), i = int64_t{0}]() mutable -> std::optional<Value> {
      if (i >= self->count()) return std::nullopt;
      const int64_t from = i++ * self->size, to = std::min(from + self->size, self->set.labels.size());
      const Array &images = self->set.images, &labels = self->set.labels;
      if (!self->shuffle) return make_tuple({Value(images.rows(from, to)), Value(labels.rows(from, to))});
      const int64_t n = to - from;
      Array x(images.dtype(), {n, images.shape()[1], images.shape()[2]}), y(labels.dtype(), {n});
      const size_t image = static_cast<size_t>(images.bytes() / std::max<int64_t>(1, images.shape()[0]));
      const size_t label = size_of(labels.dtype());
      std::byte *xs = x.mutable_raw(), *ys = y.mutable_raw();
      for (int64_t k = 0; k < n; ++k) {
        const auto row = static_cast<size_t>(order.data<int64_t>()[from + k]);
        std::memcpy(xs + static_cast<size_t>(k) * image, images.raw() + row * image, image);
        std::memcpy(ys + static_cast<size_t>(k) * label, labels.raw() + row * label, label);
      }
      return make_tuple({Value(std::move(x)), Value(std::move(y))});
    });
  }
};

struct DigitSetObject final : Object {
  DigitSet set;
  explicit DigitSetObject(DigitSet s) : set(std::move(s)) {}
  std::string type_name() const override { return "dataset"; }
  std::string repr(Interpreter&) override { return fmt::format("<{} digits>", set.labels.size()); }
  std::vector<std::string> member_names() const override { return {"images", "labels", "batches"}; }
  std::optional<int64_t> length(Interpreter&) override { return set.labels.size(); }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (name == "images") return Value(set.images);
    if (name == "labels") return Value(set.labels);
    if (name != "batches") return std::nullopt;
    return make_method(no_effects, "batches", [digits = set](Interpreter& in, const Arguments& args) -> Value {
      ArgReader a("batches", args, {"size", "shuffle", "drop_last"});
      const int64_t size = a.integer("size");
      if (size < 1) throw run_error(fmt::format("batches: the size must be at least 1, not {}", size));
      if (size > digits.labels.size() && a.boolean_or("drop_last", true)) {
        throw run_error(fmt::format("batches: no batch of {} fits {} images", size, digits.labels.size()),
                        {"drop_last = false gives the images that there are as one batch"});
      }
      if (const int64_t rest = digits.labels.size() % size; rest != 0 && a.value_or("drop_last", {}).is_none())
        notice_once(
            in, Notice::batches,
            fmt::format("batches of {} leave out the last {} of {}: `drop_last = true` says so, false keeps them", size,
                        rest, digits.labels.size()));
      return make_ref<BatchesObject>(digits, size, a.boolean_or("shuffle", false), a.boolean_or("drop_last", true));
    });
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
struct UnreadSetObject final : Object {
  std::string type_name() const override { return "dataset"; }
  std::string repr(Interpreter&) override { return "<digits>"; }
  std::vector<std::string> member_names() const override { return {"images", "labels", "batches"}; }
  std::optional<int64_t> length(Interpreter&) override { throw Unevaluated{}; }
  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (name == "images" || name == "labels") return unknown_value();
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
  ArgReader a("mnist", args, {"train", "test"});
  const int64_t train = a.integer_or("train", 60000), test = a.integer_or("test", 10000);
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
  define(p, {Effect::reads_files, Effect::reads_environment, Effect::prints}, "mnist",
         "mnist(train = 60000, test = 10000)",
         "The MNIST digits where their files are found, otherwise digits drawn by a built-in generator.", mnist,
         InLook::calls_body);
}

}  // namespace pxl
