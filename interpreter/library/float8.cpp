// Casts of host arrays to float8 and back.
#include "runtime/tensor/float8.hpp"
#include "interpreter/graphs/declarations.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"

#include <fmt/format.h>

#include "interpreter/library/builtins.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl {

namespace {

Array source(Interpreter& in, const ArgReader& a, const char* host, const char* device) {
  const Value src = a.value("src");
  if (mentions_tensor(src))
    throw Error(fmt::format("{} converts arrays, and tensors have no value yet: use {}", host, device))
        .as(codes::no_value_yet);
  return to_array(in, src);
}

}  // namespace

void bind_float8_builtins(Scope& p) {
  define(p, no_effects,
         {"host_pow2scale_cast_to_fp8(src, dtype, log2_scale = 0, nan_on_overflow = true)",
          "An array as float8: src * 2^log2_scale, rounded to nearest even as pow2scale_cast_to_fp8 does. A number "
          "that is too large becomes NaN, or else the largest value.",
          "host_pow2scale_cast_to_fp8(array([0.5, 3.0]), float8_143).dtype"},
         [](Interpreter& in, const Arguments& args) -> Value {
           ArgReader a(args);
           const Array src = source(in, a, "host_pow2scale_cast_to_fp8", "pow2scale_cast_to_fp8");
           return to_float8(src, to_dtype(a.value("dtype"), "host_pow2scale_cast_to_fp8"), a.integer("log2_scale"),
                            float8_overflow(a));
         });
  define(p, no_effects,
         {"host_pow2scale_cast_from_fp8(src, dtype = float16, log2_scale = 0)",
          "An array of float8 as floats: src * 2^log2_scale, rounded as pow2scale_cast_from_fp8 does where these are "
          "float16.",
          R"(small = host_pow2scale_cast_to_fp8(array([0.5, 3.0]), float8_143)
host_pow2scale_cast_from_fp8(small, float32))"},
         [](Interpreter& in, const Arguments& args) -> Value {
           ArgReader a(args);
           const Array src = source(in, a, "host_pow2scale_cast_from_fp8", "pow2scale_cast_from_fp8");
           const DType dtype =
               a.has("dtype") ? to_dtype(a.value("dtype"), "host_pow2scale_cast_from_fp8") : DType::float16;
           return from_float8(src, dtype, a.integer("log2_scale"));
         });
}

}  // namespace pxl
