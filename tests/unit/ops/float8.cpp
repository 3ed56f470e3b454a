// Products of float8 operands against sums in float64; casts in a graph against those on arrays.
#include <doctest/doctest.h>

#include <cmath>

#include "samples.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// Values over the whole range of a format, both signs, no NaN.
Array patterns(DType dtype, const Shape& shape, int seed) {
  Array a(dtype, shape);
  for (int64_t i = 0; i < a.size(); ++i) {
    const auto bits = static_cast<uint8_t>((i * 37 + seed * 11 + 5) % 256);
    a.mutable_raw()[i] = static_cast<std::byte>(bits == 0x80 ? 0x11 : bits);
  }
  return a;
}

/// The same numbers as float64.
Array exact(const Array& a) {
  Array out(DType::float64, a.shape());
  for (int64_t i = 0; i < a.size(); ++i) out.mutable_data<double>()[i] = a.number(i);
  return out;
}

/// Both results, where `wide` is float64 without the scale: within half an ulp of float16 and what float32 sums lose.
void check_scaled(const Array& scaled, const Array& wide, int64_t log2_scale, double largest_sum) {
  REQUIRE(scaled.shape() == wide.shape());
  CHECK(scaled.dtype() == DType::float16);
  for (int64_t i = 0; i < wide.size(); ++i) {
    const double expected = std::ldexp(wide.number(i), static_cast<int>(log2_scale)), got = scaled.number(i);
    if (std::fabs(expected) > 65519)
      CHECK(std::isinf(got));
    else
      CHECK(std::fabs(got - expected) <= std::max(std::fabs(expected) * 0x1p-11, 0x1p-25) +
                                             std::ldexp(largest_sum, static_cast<int>(log2_scale)) * 1e-6);
  }
}

struct Case {
  Shape a, b;
};

}  // namespace

TEST_CASE("matmul_pow2scaled over all shapes of matmul, formats and scales") {
  for (const Case& c : {Case{{3, 4}, {4, 5}}, Case{{4}, {4}}, Case{{3, 4}, {4}}, Case{{4}, {4, 5}},
                        Case{{2, 3, 4}, {4, 5}}, Case{{2, 3, 4}, {2, 4, 5}}, Case{{1, 3, 4}, {2, 4, 1}},
                        Case{{3, 0}, {0, 2}}, Case{{0, 3}, {3, 2}}, Case{{40, 65}, {65, 33}}})
    for (const auto& [x, y] : {std::pair{DType::float8_143, DType::float8_143}, {DType::float8_152, DType::float8_143}})
      for (const int64_t scale : {0, -9, -30}) {
        EagerOpBuilder at;
        const Array a = patterns(x, c.a, 1), b = patterns(y, c.b, 2);
        const Array wide = at.one("matmul", {Expr(at, exact(a)), Expr(at, exact(b))}).array();
        const Array got = at.one("matmul_pow2scaled",
                                 {Expr(at, a), Expr(at, b), Expr(at, Array::scalar(static_cast<int32_t>(scale)))})
                              .array();
        CAPTURE(text(a.spec()));
        CAPTURE(text(b.spec()));
        CAPTURE(scale);
        check_scaled(got, wide, scale, static_cast<double>(float8_max(x) * float8_max(y)) * 65);
      }
}

TEST_CASE("a scale acts before the sum is rounded to float16") {
  EagerOpBuilder at;
  const Array x = as_float8(Array::full(DType::float32, {1, 100}, 240.0), DType::float8_143);
  const auto product = [&](int32_t scale) {
    return at.one("matmul_pow2scaled", {Expr(at, x), Expr(at, x.reshaped({100, 1})), Expr(at, Array::scalar(scale))})
        .array()
        .number(0);
  };
  CHECK(std::isinf(product(0)));                      // 5,760,000
  CHECK(product(-8) == 22496);                        // 22500 in float16
  CHECK(product(-32) == std::ldexp(5758976.0, -32));  // 11 bits of it
}

TEST_CASE("convolutions of float8 operands") {
  for (const DType weights : {DType::float8_143, DType::float8_152}) {
    EagerOpBuilder at;
    const Array x = patterns(DType::float8_143, {2, 4, 7, 6}, 3), w = patterns(weights, {6, 2, 3, 2}, 4);
    const Expr scale(at, Array::scalar(int32_t{-12}));
    using Ints = std::vector<int64_t>;
    const std::initializer_list<std::pair<std::string_view, Attr>> attrs = {
        {"stride", Ints{2, 1}}, {"padding", Ints{1, 0, 1, 1}}, {"groups", int64_t{2}}};
    const double most = static_cast<double>(float8_max(DType::float8_143) * float8_max(weights)) * 12;
    check_scaled(at.one("conv_pow2scaled", {Expr(at, x), Expr(at, w), scale}, attrs).array(),
                 at.one("conv", {Expr(at, exact(x)), Expr(at, exact(w))}, attrs).array(), -12, most);
    const Array t = patterns(DType::float8_152, {2, 6, 4, 3}, 5);
    check_scaled(at.one("conv_transpose_pow2scaled", {Expr(at, t), Expr(at, w), scale}, attrs).array(),
                 at.one("conv_transpose", {Expr(at, exact(t)), Expr(at, exact(w))}, attrs).array(), -12,
                 static_cast<double>(float8_max(DType::float8_152) * float8_max(weights)) * 36);
  }
}

TEST_CASE("the cast of a graph has the bits of the cast on the host, for every float16") {
  Array all(DType::float16, {256, 256});
  for (int i = 0; i < 65536; ++i) all.mutable_data<half>()[i].bits = static_cast<uint16_t>(i);
  for (const DType dtype : {DType::float8_143, DType::float8_152})
    for (const int32_t scale : {-32, -4, 0, 5, 31})
      for (const bool nan : {true, false}) {
        Ir ir;
        GraphOpBuilder g(ir.main());
        const int32_t back_scale = std::min(-scale, 31);
        const Expr t = g.of(ir.main().add_variable(all, "t"));
        const Expr s = g.of(ir.main().add_variable(Array::scalar(scale), "s"));
        const Expr n = g.of(ir.main().add_variable(Array::scalar(back_scale), "n"));
        const Expr y = g.one("pow2scale_cast_to_fp8", {t, s}, {{"data_type", dtype}, {"nan_on_overflow", nan}});
        const Expr back = g.one("pow2scale_cast_from_fp8", {y, n});
        const Values values = run_graph(ir.main(), {});
        const Array host = to_float8(all, dtype, scale, nan ? Float8Overflow::nan : Float8Overflow::saturate);
        const Array host_back = from_float8(host, DType::float16, back_scale);
        CHECK(identical(values.at(y.tensor()), host));
        CHECK(identical(values.at(back.tensor()), host_back));
      }
}

TEST_CASE("fp8_amax_scale is the greatest scale without overflow") {
  for (const DType dtype : {DType::float8_143, DType::float8_152})
    for (const double most : {240.0, 240.5, 239.0, 1.0, 1.9, 3e-3, 7e4, 1e-9, 57344.0, 0x1p-30}) {
      EagerOpBuilder at;
      const Array x = array<float>({3}, {0.5F * static_cast<float>(most), -static_cast<float>(most), 0});
      const int64_t scale = at.one("fp8_amax_scale", {Expr(at, x)}, {{"dtype", dtype}}).array().integer(0);
      const auto fits = [&](int64_t s) {
        return std::ldexp(std::fabs(x.number(1)), static_cast<int>(s)) <= static_cast<double>(float8_max(dtype));
      };
      CAPTURE(most);
      CHECK((fits(scale) || scale == -32));
      CHECK((!fits(scale + 1) || scale == 31));
    }
  EagerOpBuilder at;
  const auto scale_of = [&](const Array& a) { return at.one("fp8_amax_scale", {Expr(at, a)}).array().integer(0); };
  CHECK(scale_of(Array::zeros(DType::float16, {4})) == 0);
  CHECK(scale_of(Array::zeros(DType::float32, {0})) == 0);
  CHECK(scale_of(array<float>({2}, {1, INFINITY})) == 0);
  CHECK(scale_of(array<float>({2}, {NAN, 1})) == 0);
  Array large = Array::full(DType::float32, {40000}, 1);
  large.mutable_data<float>()[39999] = -480;
  CHECK(scale_of(large) == -1);
  CHECK(scale_of(large.cast(DType::float16)) == -1);
  CHECK(scale_of(large.cast(DType::float64)) == -1);
}

TEST_CASE("float8's ops refuse wrong operands") {
  EagerOpBuilder at;
  const Expr x(at, patterns(DType::float8_143, {2, 2}, 1)), f(at, Array::full(DType::float16, {2, 2}, 1));
  const Expr scale(at, Array::scalar(int32_t{0}));
  const auto message = [&](auto&& f_) {
    try {
      f_();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto contains = [](const std::string& text_, std::string_view part) {
    CAPTURE(text_);
    CHECK(text_.find(part) != std::string::npos);
  };
  contains(message([&] { at.one("matmul", {x, x}); }), "matmul_pow2scaled takes it");
  contains(message([&] { at.one("matmul_pow2scaled", {f, f, scale}); }), "must be of a float8 dtype, not float16");
  contains(message([&] { at.one("matmul_pow2scaled", {x, f, scale}); }), "rhs must be of a float8 dtype");
  contains(message([&] {
             at.one("matmul_pow2scaled", {x, x, Expr(at, Array::zeros(DType::int32, {2}))});
           }),
           "int32 scalar");
  contains(message([&] {
             at.one("matmul_pow2scaled", {x, x, Expr(at, Array::scalar(int32_t{32}))});
           }),
           "it must be in -32..31");
  contains(message([&] { at.one("pow2scale_cast_from_fp8", {x, Expr(at, Array::scalar(int32_t{-33}))}); }), "-33");
  contains(message([&] {
             at.one("pow2scale_cast_to_fp8", {f, scale}, {{"data_type", DType::float16}});
           }),
           "data_type must be a float8 dtype");
  contains(message([&] { at.one("cast", {f}, {{"data_type", DType::float8_143}}); }), "use pow2scale_cast_to_fp8");
  contains(message([&] { at.one("cast", {x}, {{"data_type", DType::float16}}); }), "pow2scale_cast_from_fp8");
}
