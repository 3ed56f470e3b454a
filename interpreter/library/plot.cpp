// plot(values, ...): draws a line chart in the terminal, in a file, or in the display that the session uses for
// pictures.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "interpreter/library/builtins.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/limits/filter_program.hpp"
#include "runtime/base/text/wrap.hpp"
#include "runtime/io/chart.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

std::vector<double> numbers(Interpreter& in, const Value& v) {
  const Array a = to_array(in, v);
  if (a.rank() > 1)
    throw Error(fmt::format("a line is drawn of one axis, and this has the shape {}", tuple_text(a.shape())))
        .as(codes::shape);
  std::vector<double> out(static_cast<size_t>(a.size()));
  for (int64_t i = 0; i < a.size(); ++i) out[static_cast<size_t>(i)] = a.number(i);
  return out;
}

bool is_sequence(const Value& v) { return v.as_array() ? v.as_array()->rank() > 0 : v.as<SequenceObject>() != nullptr; }

// Numbers are one line. A dict has lines by name, a list has several lines, and an array of two axes has one line per
// row.
std::vector<Series> lines_of(Interpreter& in, const Value& values) {
  std::vector<Series> out;
  if (auto* dict = values.as<DictObject>()) {
    for (const auto& [key, line] : dict->items) out.push_back({str_of(in, key), {}, numbers(in, line)});
  } else if (const Array* a = values.as_array(); a && a->rank() == 2) {
    for (int64_t r = 0; r < a->shape()[0]; ++r)
      out.push_back({"", {}, numbers(in, Value(a->rows(r, r + 1).reshaped({a->shape()[1]})))});
  } else {
    const std::vector<Value> items = elements_of(in, values);
    if (!items.empty() && std::all_of(items.begin(), items.end(), is_sequence)) {
      for (const Value& line : items) out.push_back({"", {}, numbers(in, line)});
    } else {
      out.push_back({"", {}, numbers(in, values)});
    }
  }
  if (out.empty())
    throw Error("there is nothing to draw", {"plot(values) takes numbers, a list of lines, or a dict of them"});
  return out;
}

// Debian's librsvg2-bin converts an SVG to a PNG.
void write_png(const std::string& path, const std::string& svg) {
  const FilterOutcome png = run_filter({"rsvg-convert"}, svg);
  if (png.status != 0 || png.output.empty())
    throw run_error(png.status == 127 ? "PNG pictures need the program rsvg-convert"
                                      : fmt::format("rsvg-convert could not draw {}", path),
                    {"install librsvg2-bin, or give a path that ends in .svg"});
  write_file_atomically(path, png.output);
}

int columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::min<int>(size.ws_col - 1, 100);
  return 72;
}

Value plot(Interpreter& in, const Arguments& args) {
  ArgReader a(args);
  Chart chart;
  chart.series = lines_of(in, a.value("values"));
  chart.title = a.string("title");
  chart.x_label = a.string("x_label");
  chart.y_label = a.string("y_label");
  chart.log_y = a.boolean("log");
  if (a.has("x"))
    for (Series& s : chart.series) s.x = numbers(in, a.value("x"));
  if (a.has("labels")) {
    const std::vector<Value> labels = elements_of(in, a.value("labels"));
    if (labels.size() != chart.series.size())
      throw Error(fmt::format("{} labels for {} lines", labels.size(), chart.series.size()));
    for (size_t i = 0; i < labels.size(); ++i) chart.series[i].label = str_of(in, labels[i]);
  }
  if (a.has("path")) {
    const std::string path = a.string("path");
    const auto width = static_cast<int>(std::clamp<int64_t>(a.integer_or("width", 640), 120, 10000)),
               height = static_cast<int>(std::clamp<int64_t>(a.integer_or("height", 360), 90, 10000));
    const std::string svg = chart_svg(chart, width, height);
    if (path.ends_with(".svg"))
      write_file_atomically(path, svg);
    else if (path.ends_with(".png"))
      write_png(path, svg);
    else
      throw Error(fmt::format("a picture's path ends in .svg or .png, and this one is {}", path));
    return {};
  }
  if (host_of(in).options().picture) {
    host_of(in).options().picture(chart_svg(chart), chart.title);
    return {};
  }
  TextOptions options;
  options.width = static_cast<int>(std::clamp<int64_t>(a.integer_or("width", columns()), 24, 1000));
  options.height = static_cast<int>(std::clamp<int64_t>(a.integer_or("height", 16), 5, 200));
  options.colour = wants_colour(STDOUT_FILENO);
  host_of(in).write(chart_text(chart, options));
  return {};
}

}  // namespace

void bind_plot_builtin(Scope& p) {
  define(p, {Effect::prints, Effect::writes_files, Effect::reads_environment, Effect::starts_processes},
         {"plot(values, x = none, title = \"\", labels = none, x_label = \"\", y_label = \"\", log = false, path = "
          "none, width = none, height = none)",
          "Draws lines: numbers, a list of lines, a dict of lines by name, or an array whose rows are lines. In the "
          "terminal, or into "
          "a .svg or .png file; in a notebook a chart of the same title is drawn in its place.",
          R"(plot([1, 4, 9, 16], title = "squares", path = "squares.svg")
exists("squares.svg"))"},
         plot);
}

}  // namespace pxl
