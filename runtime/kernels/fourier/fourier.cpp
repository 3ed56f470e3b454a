#include "runtime/kernels/fourier/fourier.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>

#include "built_sets.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/fourier/lines.hpp"
#include "runtime/kernels/reduction/axis_lines.hpp"

namespace pxl {

PXL_VARIANTS(FourierFunctions, fourier_functions)

int64_t LinePlan::extent_in() const {
  return form == Form::of_real ? n : form == Form::to_real ? 2 * (n / 2 + 1) : 2 * n;
}
int64_t LinePlan::extent_out() const {
  return form == Form::to_real ? n : form == Form::of_real ? 2 * (n / 2 + 1) : 2 * n;
}

namespace {

const FourierFunctions& fourier_functions() {
  static const FourierFunctions& chosen = variant_for(instruction_set(), fourier_functions_variants());
  return chosen;
}

/// e^(-2 pi i part / whole)
Turn turn(int64_t part, int64_t whole) {
  const double angle = -2 * std::numbers::pi * (static_cast<double>(part % whole) / static_cast<double>(whole));
  return {std::cos(angle), std::sin(angle)};
}

/// How long a pass of a radix takes for a number. The unit is a pass of radix 8.
double time_of_radix(int radix) { return has_roots(radix) ? radix / 5.0 : 0.6 + radix / 20.0; }

/// The coded radices whose product is n and whose time is least, the largest first. `from` is the first one that may be
/// taken. Nothing if n has other prime factors.
struct Radices {
  double time = std::numeric_limits<double>::infinity();
  std::vector<int> radices;
};
Radices fastest_radices(int64_t n, size_t from = 0) {
  if (n == 1) return {0, {}};
  Radices least;
  for (size_t i = from; i < std::size(coded_radices); ++i) {
    const int r = coded_radices[i];
    if (n % r != 0) continue;
    Radices rest = fastest_radices(n / r, i);
    if (rest.time + time_of_radix(r) >= least.time) continue;
    least = std::move(rest);
    least.time += time_of_radix(r);
    least.radices.insert(least.radices.begin(), r);
  }
  return least;
}

/// The radices for n: those of its prime factors up to 5, and each larger factor up to longest_radix. What is left is
/// returned in n. Few passes are faster than many small ones.
std::vector<int> radices_of(int64_t& n) {
  int64_t coded = 1;
  std::vector<int> others;
  for (int r = 2; r <= longest_radix && n > 1; ++r)
    for (; n % r == 0; n /= r) {
      if (r <= 5)
        coded *= r;
      else
        others.push_back(r);
    }
  std::vector<int> radices = fastest_radices(coded).radices;
  radices.insert(radices.end(), others.begin(), others.end());
  return radices;
}

/// The least length from n on whose transform is passes of 8 and few others.
int64_t length_from(int64_t n) {
  for (int64_t length = (n + 7) / 8 * 8;; length += 8) {
    int64_t rest = length;
    for (const int r : {2, 3, 5})
      while (rest % r == 0) rest /= r;
    if (rest == 1) return length;
  }
}

ComplexPlan complex_plan(int64_t n) {
  ComplexPlan plan;
  plan.n = n;
  int64_t left = n, rest = n;
  plan.radices = radices_of(rest);
  plan.order = {0};
  for (const int r : plan.radices) {
    left /= r;
    const size_t known = plan.order.size();
    for (size_t i = known; i < static_cast<size_t>(r) * known; ++i)
      plan.order.push_back(plan.order[i % known] + static_cast<int32_t>(left * static_cast<int64_t>(i / known)));
    for (int64_t p = 0; p < left; ++p)
      for (int j = 1; j < r; ++j) plan.turns.push_back(turn(p * j, r * left));
    for (int j = 0; j < r && has_roots(r); ++j) plan.roots.push_back(turn(j, r));
  }
  plan.order.push_back(static_cast<int32_t>(n));
  return plan;
}

/// Rows and columns of a line that take the least time, as wide as a group of lanes or more. None if there are none.
SplitPlan split_plan(LinePlan::Form form, int64_t n, int64_t row_unit = 1) {
  const bool real = form != LinePlan::Form::complex;
  // The time of `lines` transforms of `count` numbers, in passes of 8 over a number. Memory takes two passes, and more
  // the larger the transform is.
  const auto time_of = [](int64_t lines, int64_t count) {
    int64_t rest = count;
    double passes = 2;
    for (const int r : radices_of(rest)) passes += time_of_radix(r);
    const double size = static_cast<double>(count);
    return static_cast<double>(SplitPlan::groups_of(lines)) * size * passes *
           (1 + std::max(0.0, std::log2(size / 64)) / 3);
  };
  SplitPlan plan;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](int64_t rows) {
    const int64_t columns = n / rows, wanted = real ? rows / 2 + 1 : rows;
    if (columns < fourier_lanes || wanted < fourier_lanes || rows % row_unit != 0) return;
    const double time = time_of(real ? (columns + 1) / 2 : columns, rows) + time_of(wanted, columns);
    if (time < least) least = time, plan.rows = rows, plan.columns = columns;
  };
  for (int64_t d = fourier_lanes; d * d <= n; ++d)
    if (n % d == 0) consider(d), consider(n / d);
  if (plan.rows == 0) return plan;
  const int64_t wanted = real ? plan.rows / 2 + 1 : plan.rows;
  plan.lanes = plan.columns, plan.numbers = wanted;
  if (form == LinePlan::Form::to_real) std::swap(plan.lanes, plan.numbers);
  plan.of_rows = complex_plan(plan.rows), plan.of_columns = complex_plan(plan.columns);
  // A turn of lane l of a group is that of its first lane times that of lane l.
  std::vector<Turn> steps;
  for (int64_t b = 0; b < plan.numbers; ++b)
    for (int64_t l = 0; l < fourier_lanes; ++l) steps.push_back(turn(l * b, n));
  const double scale = form == LinePlan::Form::of_real ? 0.5 : 1;
  plan.turns.reserve(static_cast<size_t>(2 * fourier_lanes * plan.groups() * plan.numbers));
  for (int64_t g = 0; g < plan.groups(); ++g)
    for (int64_t b = 0; b < plan.numbers; ++b) {
      const Turn at = turn(SplitPlan::start_of(g, plan.lanes) * b, n);
      const Turn* step = steps.data() + fourier_lanes * b;
      for (int64_t l = 0; l < fourier_lanes; ++l)
        plan.turns.push_back(scale * (at.re * step[l].re - at.im * step[l].im));
      for (int64_t l = 0; l < fourier_lanes; ++l)
        plan.turns.push_back(scale * (at.re * step[l].im + at.im * step[l].re));
    }
  return plan;
}

/// The complex numbers of a line in one piece: a real line of even extent is half as many.
int64_t numbers_of(LinePlan::Form form, int64_t n) { return form != LinePlan::Form::complex && n % 2 == 0 ? n / 2 : n; }

/// The most lines that take less time one after the other, each as rows and columns, than side by side in eight lanes.
int64_t few_lines(int64_t numbers) {
  return numbers >= 1000 ? 7 : numbers >= 500 ? 6 : numbers >= 250 ? 4 : numbers >= 192 ? 2 : 0;
}

/// Whether lines take less time as rows and columns, however many there are: eight of them do not fit the cache.
bool is_long(LinePlan::Form form, int64_t n) {
  const int64_t numbers = numbers_of(form, n);
  return numbers >= (numbers < n ? 2500 : 1400);
}

/// Source: L. Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform", 1970. As
/// j k = (j^2 + k^2 - (k - j)^2) / 2, the transform is a convolution. Transforms of another length compute it.
void set_chirp(LinePlan& line) {
  const int64_t n = line.length, padded = length_from(2 * n - 1);
  std::vector<double> parts(static_cast<size_t>(2 * padded));
  int64_t square = 0;  // j^2 modulo 2 n, which is as good and exact
  for (int64_t j = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
    const Turn t = turn(square, 2 * n);
    line.chirp_re.push_back(t.re), line.chirp_im.push_back(t.im);
    for (const int64_t at : {j, j == 0 ? 0 : padded - j}) {
      parts[static_cast<size_t>(2 * at)] = t.re;
      parts[static_cast<size_t>(2 * at + 1)] = -t.im;
    }
  }
  LinePlan whole;
  whole.n = whole.length = whole.planned = padded, whole.plan = complex_plan(padded);
  std::vector<double> spectrum(parts.size()), work(static_cast<size_t>(whole.work_size()));
  fourier_functions().one64(whole, parts.data(), {0, 2}, spectrum.data(), {0, 2}, work.data());
  for (double& v : spectrum) v /= static_cast<double>(padded);
  line.planned = padded;
  if (line.apart || n >= 4096) line.split = split_plan(LinePlan::Form::complex, padded, fourier_lanes);
  if (line.is_split()) {
    // Eight numbers past the end of a row are read, and not used.
    for (std::vector<double>* chirp : {&line.chirp_re, &line.chirp_im}) chirp->resize(static_cast<size_t>(padded));
    line.plan.order.resize(static_cast<size_t>(padded));
    std::iota(line.plan.order.begin(), line.plan.order.end(), 0);
    const int64_t rows = line.split.rows, columns = line.split.columns;
    for (int64_t j = 0; j < rows; j += fourier_lanes)
      for (int64_t k = 0; k < columns; ++k)
        for (const int64_t part : {0, 1})
          for (int64_t l = 0; l < fourier_lanes; ++l)
            line.split.filter.push_back(spectrum[static_cast<size_t>(2 * (k * rows + j + l) + part)]);
  } else {
    line.plan = std::move(whole.plan);
    for (size_t j = 0; j < spectrum.size(); j += 2) line.filter.push_back({spectrum[j], spectrum[j + 1]});
  }
}

}  // namespace

LinePlan line_plan(LinePlan::Form form, bool inverse, int64_t n, bool apart) {
  LinePlan line;
  line.form = form, line.inverse = inverse, line.apart = apart, line.n = line.length = line.planned = n;
  int64_t rest = n;
  radices_of(rest);
  if (rest == 1 && (apart || is_long(form, n))) line.split = split_plan(form, n);
  if (line.is_split()) return line;
  if (form != LinePlan::Form::complex && n % 2 == 0) {
    line.length = line.planned = n / 2;
    for (int64_t k = 0; k <= line.length; ++k) line.halves.push_back(turn(k, n));
  }
  if (rest == 1)
    line.plan = complex_plan(line.length);
  else
    set_chirp(line);
  return line;
}

namespace {

/// Lines of an operand or a result, as [outer, line, inner] or, with two parts each, as [outer, line, inner, 2].
struct LineMemory {
  int64_t elements, parts, inner;
  LinePlace place() const { return inner == 1 ? LinePlace{elements, parts} : LinePlace{parts, parts * inner}; }
  /// The place of line i of those with the same outer index.
  int64_t begin(int64_t outer, int64_t i) const { return outer * elements * inner + i * place().line; }
  /// The place of element i in a line.
  int64_t at(int64_t i) const { return i / parts * place().number + i % parts; }
};

template <class T>
bool is_finite_line(const T* x, const LineMemory& m) {
  for (int64_t i = 0; i < m.elements; ++i)
    if (!std::isfinite(x[m.at(i)])) return false;
  return true;
}
/// Whether a line may have NaN or infinities. They reach the first number of a result, but for the imaginary parts of
/// the spectrum of real numbers. Those reach the second one, except the first and the last.
struct SignsOfInfinity {
  int64_t in_second, in_last, out_second;  ///< places of elements
  template <class T>
  bool at(const T* x, const T* y) const {
    // A sum of products with 0 is NaN if a number is infinite or NaN.
    return (x[in_second] + x[in_last]) * 0 + (y[0] + y[out_second]) * 0 != 0;
  }
};
template <class T>
void fill_infinite(const T* x, const LineMemory& in, T* y, const LineMemory& out) {
  if (is_finite_line(x, in)) return;
  for (int64_t i = 0; i < out.elements; ++i) y[out.at(i)] = std::numeric_limits<T>::quiet_NaN();
}

/// Moves lines from one place to another; one of both has the elements of each line next to each other.
template <class T>
void move(const T* x, LinePlace in, T* y, LinePlace out, const LineMemory& m, int64_t count) {
  const int64_t numbers = m.elements / m.parts;
  if (in.number == m.parts && out.number == m.parts) {
    for (int64_t l = 0; l < count; ++l) std::copy_n(x + l * in.line, m.elements, y + l * out.line);
  } else if (count == fourier_lanes && m.parts * static_cast<int64_t>(sizeof(T)) <= 8) {
    const auto in_words = [&](LinePlace p) { return LinePlace{p.line / m.parts, p.number / m.parts}; };
    const auto move = m.parts * sizeof(T) == 8 ? fourier_functions().move64 : fourier_functions().move32;
    move(x, in_words(in), y, in_words(out), numbers);
  } else {
    for (int64_t i = 0; i < numbers; ++i)
      for (int64_t l = 0; l < count; ++l)
        for (int64_t part = 0; part < m.parts; ++part)
          y[l * out.line + i * out.number + part] = x[l * in.line + i * in.number + part];
  }
}

template <class T>
Kernel lines(std::shared_ptr<const LinePlan> line, int64_t outer, int64_t inner) {
  const LineMemory from{line->extent_in(), line->form == LinePlan::Form::of_real ? 1 : 2, inner};
  const LineMemory to{line->extent_out(), line->form == LinePlan::Form::to_real ? 1 : 2, inner};
  // Lines that lie side by side: all, if each is contiguous.
  const int64_t together = inner == 1 ? outer : inner, sets = inner == 1 ? 1 : outer;
  const int64_t fewest = 3;  // as long as three lines by themselves
  const bool wide = together >= fewest && !line->is_split();
  // Lines are copied to rows where there are not eight, and columns that are computed one by one.
  const bool copied = wide ? together % fourier_lanes >= fewest : line->is_split() && inner > 1;
  const int64_t unit = wide || copied ? fourier_lanes : 1, groups = (together + unit - 1) / unit;
  WorkspaceLayout layout;
  const auto work = layout.per_thread<double>((wide ? fourier_lanes : 1) * line->work_size());
  const auto rows = layout.per_thread<T>(copied ? fourier_lanes * (from.elements + to.elements) : 0);
  const auto [one, eight] = [] {
    const FourierFunctions& f = fourier_functions();
    if constexpr (std::is_same_v<T, float>)
      return std::pair(f.one32, f.eight32);
    else
      return std::pair(f.one64, f.eight64);
  }();
  const auto n = static_cast<double>(line->planned);
  const double cost_ns = (wide ? 0.2 : 0.8) * n * std::log2(n + 1) + 20;  // an estimate for one core
  const SignsOfInfinity signs{from.at(std::min<int64_t>(1, from.elements - 1)), from.at(from.elements - 1),
                              to.at(std::min<int64_t>(1, to.elements - 1))};
  const auto group = [=, one = one, eight = eight](const Buffers& b, int64_t set, int64_t first, int64_t count) {
    const T* x = b.input<T>(0) + from.begin(set, first);
    T* y = b.output<T>(0) + to.begin(set, first);
    double* const memory = b.workspace(work);
    const LinePlace in = from.place(), out = to.place();
    if (wide && count == fourier_lanes) {
      eight(*line, x, in, y, out, memory);
    } else if (copied && count >= (wide ? fewest : 1)) {
      T *const copy = b.workspace(rows), *const result = copy + fourier_lanes * from.elements;
      const LinePlace row_in{from.elements, from.parts}, row_out{to.elements, to.parts};
      move(x, in, copy, row_in, from, count);
      if (wide) std::fill(copy + count * row_in.line, copy + fourier_lanes * row_in.line, T(0));
      if (wide) eight(*line, copy, row_in, result, row_out, memory);
      for (int64_t l = 0; l < count && !wide; ++l)
        one(*line, copy + l * row_in.line, row_in, result + l * row_out.line, row_out, memory);
      move(result, row_out, y, out, to, count);
    } else {
      for (int64_t l = 0; l < count; ++l) one(*line, x + l * in.line, in, y + l * out.line, out, memory);
    }
    for (int64_t l = 0; l < count; ++l)
      if (signs.at(x + l * in.line, y + l * out.line)) fill_infinite(x + l * in.line, from, y + l * out.line, to);
  };
  return Kernel::parallel(sets * groups, 1, cost_ns * static_cast<double>(sets * together),
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t u = begin; u < end; ++u) {
                              const int64_t first = u % groups * unit;
                              group(b, u / groups, first, std::min(unit, together - first));
                            }
                          })
      .with_workspace(layout);
}

}  // namespace

namespace {

/// A plan for large lines takes longer than a transform: the last ones are kept.
std::shared_ptr<const LinePlan> kept_plan(LinePlan::Form form, bool inverse, int64_t n, bool apart) {
  constexpr size_t most = 16;
  static std::mutex lock;
  static auto& plans = never_destroyed(std::vector<std::shared_ptr<const LinePlan>>());
  const std::lock_guard held(lock);
  const auto at = std::find_if(plans.begin(), plans.end(), [&](const auto& p) {
    return p->form == form && p->inverse == inverse && p->n == n && p->apart == apart;
  });
  const auto found = at != plans.end() ? *at : std::make_shared<const LinePlan>(line_plan(form, inverse, n, apart));
  if (at != plans.end()) plans.erase(at);
  if (plans.size() == most) plans.erase(plans.begin());
  plans.push_back(found);
  return found;
}

}  // namespace

Kernel fourier_kernel(const TensorSpec& t, bool inverse, int64_t real, int64_t axis) {
  using Form = LinePlan::Form;
  const Form form = real == 0 ? Form::complex : inverse ? Form::to_real : Form::of_real;
  const Shape numbers(t.shape.begin(), t.shape.end() - (form == Form::of_real ? 0 : 1));
  const AxisLines lines_of(numbers, axis);
  const int64_t n = real > 0 ? real : lines_of.extent;
  if (n == 0 || lines_of.outer == 0 || lines_of.inner == 0) return Kernel([](const Buffers&) {});
  const auto plan = kept_plan(form, inverse, n, lines_of.outer * lines_of.inner <= few_lines(numbers_of(form, n)));
  if (t.dtype == DType::float32) return lines<float>(plan, lines_of.outer, lines_of.inner);
  if (t.dtype == DType::float64) return lines<double>(plan, lines_of.outer, lines_of.inner);
  return {};
}

}  // namespace pxl
