// Fourier transforms against their sums, and their bits line by line and with every instruction set.
#include "runtime/kernels/fourier/fourier.hpp"

#include <complex>
#include <cstring>
#include <numbers>

#include "runtime/kernels/fourier/lines.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

using Form = LinePlan::Form;
constexpr int64_t count = 11;  // a group of eight lines, and three by themselves

/// Powers of 2, products of small primes, and lengths that are computed by longer ones. The last ones are split, most
/// of them in rows or columns that are no multiple of eight.
constexpr int64_t lengths[] = {1,   2,   3,   4,   5,   7,    8,    9,    13,   16,   25,   30,
                               48,  49,  64,  81,  97,  101,  128,  183,  202,  256,  360,  243,
                               427, 500, 509, 512, 640, 1024, 1037, 1042, 1400, 2800, 2989, 3000};
constexpr struct {
  Form form;
  bool inverse;
} forms[] = {{Form::complex, false}, {Form::complex, true}, {Form::of_real, false}, {Form::to_real, true}};

Shape line_shape(Form form, int64_t n, bool operand) {
  const bool real = form == (operand ? Form::of_real : Form::to_real);
  return real ? Shape{n} : Shape{form == Form::complex ? n : n / 2 + 1, 2};
}

/// Number k of the transform of a line.
std::complex<double> summed(Form form, bool inverse, int64_t n, const double* x, int64_t k) {
  std::complex<double> sum;
  for (int64_t j = 0; j < (form == Form::to_real ? n / 2 + 1 : n); ++j) {
    const double angle =
        (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
    std::complex<double> v = form == Form::of_real ? x[j] : std::complex(x[2 * j], x[2 * j + 1]);
    if (form == Form::to_real) v = j == 0 || 2 * j == n ? v.real() : 2.0 * v;
    sum += v * std::polar(1.0, angle);
  }
  return sum;
}

}  // namespace

TEST_CASE("Fourier transforms are the sums, of lines side by side and of each apart") {
  for (const auto [form, inverse] : forms)
    for (const int64_t n : lengths)
      for (const DType dtype : {DType::float32, DType::float64}) {
        CAPTURE(n);
        CAPTURE(inverse);
        const int64_t real = form == Form::complex ? 0 : n;
        Shape in = line_shape(form, n, true), out = line_shape(form, n, false);
        const int64_t from = element_count(in), to = element_count(out);
        const Kernel one = fourier_kernel(spec(dtype, in), inverse, real);
        in.insert(in.begin(), count), out.insert(out.begin(), count);
        const Array x = ramp(dtype, in), exact = x.cast(DType::float64);
        const Array y = check_divided(fourier_kernel(spec(dtype, in), inverse, real, 1), {x}, {spec(dtype, out)})[0];
        const double unit = dtype == DType::float32 ? 0x1p-23 : 0x1p-52;
        for (int64_t i = 0; i < count; ++i) {
          Array line(dtype, line_shape(form, n, true));
          const auto bytes = static_cast<size_t>(from) * size_of(dtype),
                     results = static_cast<size_t>(to) * size_of(dtype);
          std::memcpy(line.mutable_raw(), x.raw() + static_cast<size_t>(i) * bytes, bytes);
          const Array apart = run(one, {line}, spec(dtype, line_shape(form, n, false)));
          if (n < 192)  // longer lines are rows and columns if they are few
            CHECK(std::memcmp(apart.raw(), y.raw() + static_cast<size_t>(i) * results, results) == 0);
          double size = 0;
          for (int64_t j = 0; j < from; ++j) size += 2 * std::fabs(exact.data<double>()[i * from + j]);
          for (int64_t k = 0; k < n && i % 5 == 0; k += 1 + n / 20) {
            if (form == Form::of_real && k > n / 2) break;
            const std::complex<double> sum = summed(form, inverse, n, exact.data<double>() + i * from, k);
            const int64_t at = form == Form::to_real ? k : 2 * k;
            const auto is_near = [&](double found, double part) {
              return std::fabs(found - part) <= unit * (std::fabs(part) + 0x1p-23 * size) + 0x1p-50 * size;
            };
            for (const double found : {y.number(i * to + at), apart.number(at)}) CHECK(is_near(found, sum.real()));
            if (form == Form::to_real) continue;
            for (const double found : {y.number(i * to + at + 1), apart.number(at + 1)})
              CHECK(is_near(found, sum.imag()));
          }
        }
      }
}

TEST_CASE("Fourier transforms along any axis have the bits of those of rows") {
  for (const auto [form, inverse] : forms)
    for (const int64_t n : {1, 2, 6, 7, 64, 67, 243, 402, 512, 640, 1400, 2800})
      for (const int64_t inner : {1, 2, 5, 8, 21})
        for (const DType dtype : {DType::float32, DType::float64}) {
          CAPTURE(n);
          CAPTURE(inner);
          const int64_t real = form == Form::complex ? 0 : n;
          const auto shapes = [&](bool operand, bool columns) {
            Shape shape = line_shape(form, n, operand);
            shape.insert(columns ? shape.begin() + 1 : shape.begin(), inner);
            shape.insert(shape.begin(), 3);
            return shape;
          };
          // Element e of line l, whose numbers have `parts` elements.
          const auto moved = [&](const Array& rows, const Shape& to) {
            Array columns(dtype, to);
            const int64_t parts = to.size() == 4 ? 2 : 1, extent = to[1], size = static_cast<int64_t>(size_of(dtype));
            for (int64_t i = 0; i < rows.size(); ++i) {
              const int64_t part = i % parts, number = i / parts % extent, line = i / parts / extent;
              const int64_t at = ((line / inner * extent + number) * inner + line % inner) * parts + part;
              std::memcpy(columns.mutable_raw() + at * size, rows.raw() + i * size, static_cast<size_t>(size));
            }
            return columns;
          };
          Array x = ramp(dtype, shapes(true, false));
          const Array y = run(fourier_kernel(x.spec(), inverse, real, 2), {x}, spec(dtype, shapes(false, false)));
          const Array z = moved(x, shapes(true, true));
          const Array w =
              check_divided(fourier_kernel(z.spec(), inverse, real, 1), {z}, {spec(dtype, shapes(false, true))})[0];
          const Array expected = moved(y, shapes(false, true));
          CHECK(std::memcmp(w.raw(), expected.raw(), static_cast<size_t>(w.size()) * size_of(dtype)) == 0);
        }
}

TEST_CASE("Fourier transforms have the same bits with every instruction set") {
  for (const auto [form, inverse] : forms)
    for (const int64_t n : {1, 2, 12, 17, 34, 75, 134, 243, 427, 512, 640, 1042, 1400, 2800}) {
      for (const bool apart : {false, true}) {
        CAPTURE(n);
        CAPTURE(apart);
        const LinePlan line = line_plan(form, inverse, n, apart);
        const int64_t together = apart || line.is_split() ? 1 : fourier_lanes;
        const Array x = ramp(DType::float64, {together, line.extent_in()});
        const LinePlace from{line.extent_in(), form == Form::of_real ? 1 : 2},
            to{line.extent_out(), form == Form::to_real ? 1 : 2};
        WorkspaceLayout layout;
        layout.per_call<double>(together * line.work_size());
        const WorkspaceMemory work(layout.size().per_call);
        std::vector<Array> results;
        for (const FourierFunctions* f : usable_variants(fourier_functions_variants())) {
          results.emplace_back(DType::float64, Shape{together, line.extent_out()});
          (together == 1 ? f->one64 : f->eight64)(line, x.data<double>(), from, results.back().mutable_data<double>(),
                                                  to, reinterpret_cast<double*>(work.data()));
        }
        REQUIRE(!results.empty());
        for (const Array& y : results)
          CHECK(std::memcmp(y.raw(), results[0].raw(), static_cast<size_t>(y.size()) * sizeof(double)) == 0);
      }
    }
}

TEST_CASE("lines of eight columns move to rows and back") {
  for (const int64_t n : {3, 8, 21}) {
    const Array columns = ramp(DType::float64, {n, fourier_lanes});
    Array rows(DType::float64, {fourier_lanes, n}), back(DType::float64, {n, fourier_lanes});
    for (const FourierFunctions* f : usable_variants(fourier_functions_variants())) {
      f->move64(columns.raw(), {1, fourier_lanes}, rows.mutable_raw(), {n, 1}, n);
      for (int64_t i = 0; i < rows.size(); ++i) CHECK(rows.number(i) == columns.number(i % n * fourier_lanes + i / n));
      f->move64(rows.raw(), {n, 1}, back.mutable_raw(), {1, fourier_lanes}, n);
      CHECK(std::memcmp(back.raw(), columns.raw(), static_cast<size_t>(back.size()) * sizeof(double)) == 0);
    }
  }
}

TEST_CASE("a line with NaN or an infinity has NaN, and the others do not") {
  for (const auto [form, inverse] : forms)
    for (const int64_t n : {6, 7, 67, 243, 640, 509, 2800}) {
      CAPTURE(n);
      Shape in = line_shape(form, n, true), out = line_shape(form, n, false);
      in.insert(in.begin(), 9), out.insert(out.begin(), 9);
      const Array x = ramp(DType::float32, in);
      const int64_t elements = x.size() / 9;
      // The second number, whose parts both count.
      for (const int64_t at : {form == Form::of_real ? 1 : 2, form == Form::of_real ? 1 : 3}) {
        Array y = x;
        y.mutable_data<float>()[3 * elements + at] = std::numeric_limits<float>::infinity();
        const Kernel kernel = fourier_kernel(x.spec(), inverse, form == Form::complex ? 0 : n, 1);
        const Array expected = run(kernel, {x}, spec(DType::float32, out)), got = run(kernel, {y}, expected.spec());
        for (int64_t i = 0; i < got.size(); ++i) {
          if (i / (got.size() / 9) == 3)
            CHECK(std::isnan(got.number(i)));
          else
            CHECK(got.number(i) == expected.number(i));
        }
      }
    }
}
