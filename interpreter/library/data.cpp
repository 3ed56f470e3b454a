// Host arrays and random draws: array, zeros, normal and similar functions. Without a shape, the functions that draw
// and fill are initialisers: they draw for the spec of the variable that they initialise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpreter/graphs/tensor_objects.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/library/data/data_source.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/error_of_part.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/numbers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/kernels/random/draws.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

using Draw = std::function<Array(Interpreter&, const TensorSpec&)>;

Value initialiser(Interpreter& in, const std::string& name, const Arguments& args, Draw draw) {
  auto o = make_ref<InitialiserObject>();
  o->text = name + "(";
  bool first = true;
  auto comma = [&] {
    o->text += first ? "" : ", ";
    first = false;
  };
  for (const Value& v : args.positional) comma(), o->text += repr_of(in, v);
  for (const NamedArg& n : args.named) comma(), o->text += n.name + " = " + repr_of(in, n.value);
  o->text += ")";
  o->draw = std::move(draw);
  return o;
}

Shape checked_shape(const Shape& shape, const char* what) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 0)
      throw ErrorOfPart(Error(fmt::format("{}: a shape's extents cannot be negative: {}", what, bracket_text(shape)))
                            .as(codes::shape),
                        i);
  element_count(shape);
  return shape;
}

// The spec that the shape and dtype arguments give; a spec argument gives both.
TensorSpec given_spec(const ArgReader& a, const char* what, DType fallback) {
  const Value shape = a.value("shape");
  TensorSpec spec;
  spec.dtype = fallback;
  if (const TensorSpec* s = shape.as_spec()) {
    spec = *s;
    spec.meta_shape.clear();
  } else {
    spec.shape = to_shape(shape, what);
  }
  checked_shape(spec.shape, what);
  if (a.has("dtype")) {
    const Value dtype = a.value("dtype");
    if (shape.is_int() && dtype.is_int())
      throw Error(fmt::format("{}: the extents of an array are one argument", what),
                  {fmt::format("write `{}([{}, {}])`", what, shape.as_int(), dtype.as_int())})
          .as(codes::type);
    spec.dtype = to_dtype(dtype, what);
  }
  return spec;
}

Value array(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  std::optional<DType> dtype;
  if (a.has("dtype")) dtype = to_dtype(a.value("dtype"), "array");
  const Array x = dtype ? cast_array(in, a.value("values"), *dtype) : to_array(in, a.value("values"));
  return args.positional.empty() || !args.positional[0].as_array() ? x : x.clone();
}

Value filled(Interpreter& in, const Arguments& args, const char* name, double value) {
  ArgReader a(args);
  if (!a.has("shape")) {
    return initialiser(in, name, args,
                       [value](Interpreter&, const TensorSpec& s) { return Array::full(s.dtype, s.shape, value); });
  }
  const TensorSpec spec = given_spec(a, name, DType::float32);
  return Array::full(spec.dtype, spec.shape, value);
}

Value filled_like(Interpreter& in, const Arguments& args, const char* name, double value) {
  ArgReader a(args);
  TensorSpec spec = to_spec(in, a.value("x"), name);
  if (a.has("dtype")) spec.dtype = to_dtype(a.value("dtype"), name);
  return Array::full(spec.dtype, spec.shape, value);
}

Value full(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const bool has_dtype = a.has("dtype") || a.value("shape").as_spec();
  const TensorSpec spec = given_spec(a, "full", has_dtype ? DType::float32 : to_array(in, a.value("value")).dtype());
  const Array value = to_array(in, a.value("value"), spec.dtype, "full");
  if (value.rank() != 0) throw Error("full: the value must be one number");
  return Array::repeated(value, spec.shape);
}

Value arange(Interpreter&, const Arguments& args) {
  ArgReader a(args);
  const bool one = !a.has("stop");
  const Value start = one ? Value(0) : a.value("start"), stop = one ? a.value("start") : a.value("stop");
  const Value step = a.value_or("step", Value(1));
  for (const Value& v : {start, stop, step}) {
    if (!v.is_number()) type_error("arange: expected numbers, got " + with_article(v.type_name()));
  }
  const bool floats = start.is_float() || stop.is_float() || step.is_float();
  if (step.as_double() == 0) throw Error("arange: the step cannot be zero");
  const double exact = std::ceil((stop.as_double() - start.as_double()) / step.as_double());
  if (!(exact < 281474976710656.0)) throw run_error("arange: too many elements");
  const auto n = exact > 0 ? static_cast<int64_t>(exact) : int64_t{0};
  Array wide(floats ? DType::float64 : DType::int64, {n});
  bool large = false;
  if (!floats && n > 0) {
    // Either the last or the first element is farthest from zero.
    const int64_t first = start.as_int(), last = checked_add(first, checked_mul(n - 1, step.as_int()));
    large = std::max(first, last) > INT32_MAX || std::min(first, last) < INT32_MIN;
  }
  if (wide.has_elements()) {
    charged_chunks(n, 2,
                   [&, doubles = floats ? wide.mutable_data<double>() : nullptr,
                    ints = floats ? nullptr : wide.mutable_data<int64_t>()](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       if (doubles)
                         doubles[i] = start.as_double() + static_cast<double>(i) * step.as_double();
                       else
                         ints[i] = start.as_int() + i * step.as_int();
                     }
                   });
  }
  const DType dtype = a.has("dtype") ? to_dtype(a.value("dtype"), "arange")
                      : floats       ? DType::float32
                      : large        ? DType::int64
                                     : DType::int32;
  return convert_exactly(wide, dtype, "arange");
}

Value linspace(Interpreter&, const Arguments& args) {
  ArgReader a(args);
  const double start = a.number_or("start", 0), stop = a.number_or("stop", 1);
  const int64_t n = a.integer("num");
  if (n < 0) throw Error("linspace: the number of elements cannot be negative");
  Array wide(DType::float64, {n});
  if (wide.has_elements()) {
    charged_chunks(n, 2, [&, to = wide.mutable_data<double>()](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = n == 1       ? start
                : i + 1 == n ? stop
                             : start + (stop - start) * static_cast<double>(i) / static_cast<double>(n - 1);
      }
    });
  }
  return convert_exactly(wide, a.has("dtype") ? to_dtype(a.value("dtype"), "linspace") : DType::float32, "linspace");
}

Value eye(Interpreter&, const Arguments& args) {
  ArgReader a(args);
  const int64_t n = a.integer("n"), m = a.integer_or("m", n);
  Array x = Array::zeros(DType::float32, checked_shape({n, m}, "eye"));
  if (x.has_elements()) {
    charged_chunks(std::min(n, m), 2, [&, to = x.mutable_data<float>()](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i * m + i] = 1;
    });
  }
  return x.cast(a.has("dtype") ? to_dtype(a.value("dtype"), "eye") : DType::float32);
}

// A function that draws with two parameters. It returns an array if a shape is given, otherwise an initialiser.
using Sample = Array (*)(Random&, DType, const Shape&, double, double);
Value draw(Interpreter& in, const Arguments& args, const char* name, const char* first, const char* second, double f,
           double s, Sample sample) {
  ArgReader a(args);
  const double x = a.number_or(first, f), y = a.number_or(second, s);
  auto need_float = [name = std::string(name)](DType d) {
    if (!is_floating(d))
      throw Error(fmt::format("{} draws floating numbers, not {}", name, pxl::name(d))).as(codes::dtype);
  };
  if (!a.has("shape")) {
    return initialiser(in, name, args, [=](Interpreter& inner, const TensorSpec& spec) {
      need_float(spec.dtype);
      return sample(host_of(inner).random(), spec.dtype, spec.shape, x, y);
    });
  }
  const TensorSpec spec = given_spec(a, name, DType::float32);
  need_float(spec.dtype);
  if (!permits(Effect::random)) return unknown_array(spec);
  return sample(host_of(in).random(), spec.dtype, spec.shape, x, y);
}

Value randint(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  const int64_t low = a.integer("low"), high = a.integer("high");
  if (high <= low) throw run_error(fmt::format("randint: no whole number in [{}, {})", low, high));
  if (static_cast<uint64_t>(high) - static_cast<uint64_t>(low) > static_cast<uint64_t>(INT64_MAX))
    throw run_error(fmt::format("randint: [{}, {}) has more than 2^63 - 1 whole numbers", low, high));
  auto fill = [low, high](Random& random, const TensorSpec& spec) {
    Array out(DType::int64, spec.shape);
    if (out.has_elements()) {
      charged_chunks(out.size(), 20, [&, to = out.mutable_data<int64_t>()](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = low + random.below(high - low);
      });
    }
    return convert_exactly(out, spec.dtype, "randint");
  };
  if (!a.has("shape")) {
    return initialiser(in, "randint", args,
                       [fill](Interpreter& inner, const TensorSpec& s) { return fill(host_of(inner).random(), s); });
  }
  const TensorSpec spec = given_spec(a, "randint", DType::int32);
  if (!permits(Effect::random)) return unknown_array(spec);
  return fill(host_of(in).random(), spec);
}

}  // namespace

void bind_data_builtins(Interpreter&, Scope& p) {
  define(p, no_effects,
         {"array(values, dtype = none)", "An array of a number, nested lists or another array.",
          "array([[1, 2], [3, 4]], float32)"},
         array);
  define(p, no_effects,
         {"zeros(shape = none, dtype = float32)", "An array of zeros; without a shape an initialiser.",
          "zeros([2, 3], int32)"},
         [](Interpreter& in, const Arguments& args) { return filled(in, args, "zeros", 0); });
  define(p, no_effects,
         {"ones(shape = none, dtype = float32)", "An array of ones; without a shape an initialiser.", "ones([2, 2])"},
         [](Interpreter& in, const Arguments& args) { return filled(in, args, "ones", 1); });
  define(p, no_effects,
         {"zeros_like(x, dtype = none)", "Zeros in the shape and dtype of an array, tensor or spec.",
          "zeros_like(ones([2]))"},
         [](Interpreter& in, const Arguments& args) { return filled_like(in, args, "zeros_like", 0); });
  define(p, no_effects,
         {"ones_like(x, dtype = none)", "Ones in the shape and dtype of an array, tensor or spec.",
          "ones_like(array([[1, 2]]))"},
         [](Interpreter& in, const Arguments& args) { return filled_like(in, args, "ones_like", 1); });
  define(p, no_effects, {"full(shape, value, dtype = none)", "An array of one value.", "full([2, 2], 7, int32)"}, full);
  define(p, no_effects,
         {"arange(start, stop = none, step = 1, dtype = none)", "Numbers from start to stop, without stop.",
          "arange(0, 1, 0.25)"},
         arange);
  define(p, no_effects,
         {"linspace(start, stop, num = 50, dtype = float32)", "Evenly spaced numbers, with both ends.",
          "linspace(0, 1, 5)"},
         linspace);
  define(p, no_effects, {"eye(n, m = none, dtype = float32)", "Ones on the diagonal.", "eye(2)"}, eye);
  define(
      p, Effect::random,
      {"normal(mean = 0, std = 1, shape = none, dtype = float32)", "Normal draws; without a shape an initialiser.",
       R"(random_seed(1)
normal(0, 1, [2, 3]).spec)"},
      [](Interpreter& in, const Arguments& args) {
        return draw(in, args, "normal", "mean", "std", 0, 1,
                    [](Random& r, DType d, const Shape& s, double x, double y) { return r.normal(d, s, x, y); });
      },
      InLook::calls_body);
  define(
      p, Effect::random,
      {"truncated_normal(mean = 0, std = 1, shape = none, dtype = float32)",
       "Normal draws within two deviations; without a shape an initialiser.", R"(random_seed(1)
draws = truncated_normal(0, 1, [1000])
max(abs(draws)) <= 2)"},
      [](Interpreter& in, const Arguments& args) {
        return draw(
            in, args, "truncated_normal", "mean", "std", 0, 1,
            [](Random& r, DType d, const Shape& s, double x, double y) { return r.truncated_normal(d, s, x, y); });
      },
      InLook::calls_body);
  define(
      p, Effect::random,
      {"uniform(low = 0, high = 1, shape = none, dtype = float32)",
       "Uniform draws from [low, high); without a shape an initialiser.", R"(random_seed(1)
draws = uniform(-1, 1, [1000])
min(draws) >= -1 and max(draws) < 1)"},
      [](Interpreter& in, const Arguments& args) {
        return draw(in, args, "uniform", "low", "high", 0, 1,
                    [](Random& r, DType d, const Shape& s, double x, double y) { return r.uniform(d, s, x, y); });
      },
      InLook::calls_body);
  define(p, Effect::random,
         {"randint(low, high, shape = none, dtype = int32)",
          "Uniform ints from [low, high); without a shape an initialiser.", R"(random_seed(1)
randint(0, 10, [4]).shape)"},
         randint, InLook::calls_body);
  define(
      p, Effect::random, {"permutation(n)", "The numbers 0..n-1 in random order.", "sorted(list(permutation(4)))"},
      [](Interpreter& in, const Arguments& args) -> Value {
        const int64_t n = ArgReader(args).integer("n");
        if (n < 0 || n > (int64_t{1} << 31)) throw run_error("permutation: n is out of range");
        if (!permits(Effect::random)) return unknown_array(Shape{n}, DType::int32);
        return host_of(in).random().permutation(n, DType::int32);
      },
      InLook::calls_body);
  define(p, Effect::random,
         {"random_seed(seed)",
          "Fixes every draw that follows. The seed is an int, or what `random_state` returned: then the draws that "
          "followed it follow again.",
          R"(random_seed(5)
a = uniform(0, 1, [3])
random_seed(5)
all(a == uniform(0, 1, [3])))"},
         [](Interpreter& in, const Arguments& args) -> Value {
           const ArgReader a(args);
           const Value seed = a.value("seed");
           Random& random = host_of(in).random();
           if (const Array* state = seed.as_array())
             resume_random(random, *state, "random_seed");
           else
             random.reseed(static_cast<uint64_t>(a.integer("seed")));
           return {};
         });
  define(p, Effect::random,
         {"random_state()",
          "The state of the generator that `normal` and its kin draw from, as an array. `random_seed` takes it.",
          R"(state = random_state()
a = uniform(0, 1, [2])
random_seed(state)
allclose(a, uniform(0, 1, [2])))"},
         [](Interpreter& in, const Arguments& args) -> Value {
           const ArgReader none(args);
           return array_of(host_of(in).random());
         });
  bind_format_builtins(p);
  bind_json_builtins(p);
  bind_mnist_builtin(p);
  bind_data_set_builtins(p);
  bind_batches_builtin(p);
  bind_replay_builtin(p);
  bind_progress_builtin(p);
  bind_file_builtins(p);
  bind_plot_builtin(p);
  bind_onnx_builtins(p);
}

}  // namespace pxl
