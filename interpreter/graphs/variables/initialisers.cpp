// Initial values of variables, given as numbers, arrays, initialisers or functions; and the built-in initialisers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/tensor/exact.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {
namespace {

/// Numbers and lists get the spec's dtype in one step, so that they are rounded only once.
Array host_array(Interpreter& in, const Value& v, const TensorSpec& spec, const std::string& what) {
  return v.as_array() || is_float8(spec.dtype) ? to_array(in, v) : to_array(in, v, spec.dtype, what);
}

Array fitted(Array a, const TensorSpec& spec, const std::string& what) {
  const auto in_dtype = [&] { return convert_exactly(a, spec.dtype, what, codes::initial_value); };
  if (a.rank() == 0 && !spec.shape.empty()) return Array::repeated(in_dtype(), spec.shape);
  if (a.shape() != spec.shape)
    throw Error(what + " is " + text(spec) + ", but its initial value has shape " + bracket_text(a.shape()))
        .as(codes::initial_value);
  return in_dtype();
}

/// The numbers of inputs and outputs that each element of a weight connects: [in, out] for matrices (x @ w), [out, in,
/// ...] for convolutions. At least 1: a weight without elements has a deviation too.
std::pair<double, double> fans(const Shape& s) {
  const auto extent = [&](size_t axis) { return static_cast<double>(std::max<int64_t>(s[axis], 1)); };
  if (s.empty()) return {1, 1};
  if (s.size() == 1) return {extent(0), extent(0)};
  if (s.size() == 2) return {extent(0), extent(1)};
  double window = 1;
  for (size_t i = 2; i < s.size(); ++i) window *= extent(i);
  return {extent(1) * window, extent(0) * window};
}

void need_floating(const TensorSpec& spec, const std::string& name) {
  if (!is_floating(spec.dtype))
    throw Error(name + " draws floating numbers, but the spec is " + text(spec)).as(codes::initial_value);
}

Value initialiser(std::string text, std::function<Array(Interpreter&, const TensorSpec&)> draw) {
  auto i = make_ref<InitialiserObject>();
  i->text = std::move(text);
  i->draw = std::move(draw);
  return i;
}

double gain_of(const ArgReader& a) {
  double gain = a.number_or("gain", 1.0);
  if (!(gain > 0) || !std::isfinite(gain)) throw Error("gain must be positive").as(codes::value);
  return gain;
}

// A look does not know the elements.
Array unknown_initial_value(const Value& init, const TensorSpec& spec, const std::string& what) {
  if (const auto given = unknown_spec(init)) return fitted(Array(given->dtype, given->shape), spec, what);
  return Array(spec.dtype, spec.shape);
}

}  // namespace

Array initial_value(Interpreter& in, const Value& init, const TensorSpec& spec, const std::string& what) {
  if (check_in_progress(in) && is_unknown(init)) return unknown_initial_value(init, spec, what);
  if (init.is_number()) {
    if (is_float8(spec.dtype)) return Array::full(spec.dtype, spec.shape, init.as_double());  // only 0 is valid
    return Array::repeated(to_array(in, init, spec.dtype, what), spec.shape);
  }
  if (auto* i = init.as<InitialiserObject>()) {
    if (graphs_of(in).world().building_members > 0) return Array::unevaluated(spec.dtype, spec.shape);
    if (!check_in_progress(in)) return fitted(i->draw(in, spec), spec, what);
    // A check needs the initialiser's errors about the spec, but few numbers.
    TensorSpec drawn = spec;
    constexpr int64_t few = 16;
    if (spec.size() > few)
      for (int64_t& n : drawn.shape) n = std::min<int64_t>(n, 1);
    i->draw(in, drawn);
    return Array::unevaluated(spec.dtype, spec.shape);
  }
  if (as_tensor(init))
    type_error(what + " can't start from a tensor, whose value exists only when a session runs; give an array",
               codes::no_value_yet);
  if (can_be_called(init)) {
    Arguments args;
    if (auto* f = init.as<FunctionObject>()) {
      if (!f->code->parameters.empty()) args.positional.push_back(Value(spec));  // a function may ask what to draw
    } else {                                                                     // `zeros`, `ones`
      args.positional = {make_list(std::vector<Value>(spec.shape.begin(), spec.shape.end())), Value(spec.dtype)};
    }
    Value made = invoke(in, init, std::move(args));
    if (check_in_progress(in) && is_unknown(made)) return unknown_initial_value(made, spec, what);
    if (auto* i = made.as<InitialiserObject>()) return fitted(i->draw(in, spec), spec, what);
    if (!made.is_number() && !made.as_array() && !made.as<SequenceObject>())
      type_error(what + ": its initial function must give an array or a number, got " + made.type_name());
    return fitted(host_array(in, made, spec, what), spec, what);
  }
  if (!init.as_array() && !init.as<SequenceObject>())
    type_error(what + " starts from a number, an array, an initialiser or a function, got " +
               with_article(init.type_name()));
  return fitted(host_array(in, init, spec, what), spec, what);
}

/// The initialisers in the module `init` have the same names but take the slope of a leaky relu first, as PyTorch's do.
/// A positional gain is therefore refused.
static void need_gain_by_name(const std::string& name, const Arguments& args) {
  if (args.positional.empty()) return;
  throw Error(fmt::format("{} takes its gain by name: `{}(gain = ...)`", name, name),
              {fmt::format("`from init import {}` has PyTorch's arguments `a`, `mode` and `nonlinearity`", name)})
      .as(codes::arguments);
}

/// An initialiser whose bound or deviation depends on the fan-in, or on the sum of both fans.
static void define_by_fan(Scope& p, const std::string& name, const std::string& help, std::string_view example,
                          bool is_of_both, bool is_uniform) {
  define(p, no_effects, {name + "(gain = 1.0)", help, example}, [=](Interpreter&, Arguments args) {
    if (!is_of_both) need_gain_by_name(name, args);
    ArgReader a(args);
    const double gain = gain_of(a);
    return initialiser(name + "(" + number_text(gain) + ")", [=](Interpreter& in, const TensorSpec& s) {
      need_floating(s, name);
      const auto [fan_in, fan_out] = fans(s.shape);
      const double reach = gain * std::sqrt((is_uniform ? 6.0 : 2.0) / (is_of_both ? fan_in + fan_out : fan_in));
      Random& random = host_of(in).random();
      return is_uniform ? random.uniform(s.dtype, s.shape, -reach, reach) : random.normal(s.dtype, s.shape, 0, reach);
    });
  });
}

/// A seed that depends only on `random_seed` and a name (FNV-1a of the name).
static Array seed_of_name(Interpreter& in, const TensorSpec& spec, const std::string& name) {
  if (spec.dtype != DType::uint32 || spec.shape != Shape{2})
    throw Error("own_seed is a seed, uint32[2], not " + text(spec)).as(codes::initial_value);
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  Random random(host_of(in).random().seed() ^ hash);
  const std::vector<uint32_t> words{random.bits(), random.bits()};
  return Array::from<uint32_t>({2}, words);
}

void bind_initialiser_builtins(Scope& p) {
  define(p, no_effects,
         {"own_seed()",
          "Initialiser of a state uint32[2]: a seed for random ops that is the variable's own. It comes from "
          "`random_seed` "
          "and the variable's name, without a draw.",
          R"(random_seed(1)
variable s: uint32[2] = own_seed()
eval(s).shape)"},
         [](Interpreter&, Arguments args) -> Value {
           ArgReader a(args);
           auto i = make_ref<InitialiserObject>();
           i->text = "own_seed()";
           i->of_name = seed_of_name;
           i->draw = [](Interpreter& in, const TensorSpec& s) { return seed_of_name(in, s, ""); };
           return i;
         });
  // X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010.
  define_by_fan(p, "xavier_uniform", "Initialiser: uniform on +-gain sqrt(6 / (fan_in + fan_out)).", R"(random_seed(1)
variable w: float32[64, 8] = xavier_uniform()
eval(w).shape)",
                true, true);
  define_by_fan(p, "xavier_normal", "Initialiser: normal with deviation gain sqrt(2 / (fan_in + fan_out)).",
                R"(random_seed(1)
variable w: float32[64, 8] = xavier_normal()
eval(w).shape)",
                true, false);
  // K. He et al., "Delving deep into rectifiers", ICCV 2015.
  define_by_fan(p, "kaiming_uniform", "Initialiser: uniform on +-gain sqrt(6 / fan_in).", R"(random_seed(1)
variable w: float32[64, 8] = kaiming_uniform()
eval(w).shape)",
                false, true);
  define_by_fan(p, "kaiming_normal", "Initialiser: normal with deviation gain sqrt(2 / fan_in).", R"(random_seed(1)
variable w: float32[64, 8] = kaiming_normal()
eval(w).shape)",
                false, false);
}

// ---- factories

}  // namespace pxl
