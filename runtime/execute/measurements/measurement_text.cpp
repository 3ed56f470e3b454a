// Prints measurements: a table of each session, and the parts of a script's time.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/base/text/wrap.hpp"
#include "runtime/execute/measurements/measurement.hpp"

namespace pxl {

namespace {

std::string rate(double amount, double seconds) {
  return seconds > 0 ? fmt::format("{:.1f}", amount / seconds * 1e-9) : std::string("-");
}

std::string bytes_text(int64_t bytes) {
  const auto n = static_cast<double>(bytes);
  return bytes < 1 << 20 ? fmt::format("{:.1f} KiB", n / 1024) : fmt::format("{:.1f} MiB", n / (1 << 20));
}

/// A path in which numbers are `*`: "blocks.*.mlp".
std::string pattern_of(const std::string& path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] >= '0' && path[i] <= '9' && (out.empty() || out.back() == '.')) {
      while (i + 1 < path.size() && path[i + 1] != '.') ++i;
      out += '*';
    } else {
      out += path[i];
    }
  }
  return out;
}

/// Kernels of one line, module pattern and op.
struct Row {
  std::string what;
  int64_t kernels = 0, runs = 0;
  double seconds = 0, flops = 0, bytes = 0;
  bool divided = false;
};

std::string what_of(const MeasuredKernel& k) {
  std::string what = k.place;
  if (k.place.empty()) what = k.library;
  if (!k.path.empty()) what += (what.empty() ? "" : " ") + pattern_of(k.path);
  return what + (what.empty() ? "" : ": ") + k.name + (k.divided ? "" : " (one thread)");
}

std::vector<Row> rows_of(const Measurement& m) {
  std::vector<Row> rows;
  std::map<std::string, size_t> number;
  for (const MeasuredKernel& k : m.kernels) {
    const auto [found, fresh] = number.try_emplace(what_of(k), rows.size());
    if (fresh) rows.push_back({found->first});
    Row& row = rows[found->second];
    ++row.kernels;
    row.runs += k.runs;
    row.seconds += k.seconds;
    row.flops += static_cast<double>(k.flops) * static_cast<double>(k.runs);
    row.bytes += static_cast<double>(k.bytes) * static_cast<double>(k.runs);
    row.divided |= k.divided;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  return rows;
}

/// Orders texts with numbers by the numbers: "blocks.2" before "blocks.10".
struct NaturalOrder {
  bool operator()(std::string_view a, std::string_view b) const {
    while (!a.empty() && !b.empty()) {
      const size_t in_a = digits(a), in_b = digits(b);
      if (in_a > 0 && in_b > 0 && in_a != in_b) return in_a < in_b;
      const size_t part = std::max<size_t>(std::min(in_a, in_b), 1);
      if (const int order = a.substr(0, part).compare(b.substr(0, part)); order != 0) return order < 0;
      a.remove_prefix(part);
      b.remove_prefix(part);
    }
    return a.size() < b.size();
  }
  static size_t digits(std::string_view text) { return std::min(text.find_first_not_of("0123456789"), text.size()); }
};

/// The first modules of a path: up to the number of a list's element, or two names.
std::string first_modules(const std::string& path) {
  size_t end = path.find('.');
  for (int names = 1; end < path.size(); ++names) {
    const size_t next = std::min(path.find('.', end + 1), path.size());
    const bool number = NaturalOrder::digits(std::string_view(path).substr(end + 1)) == next - end - 1;
    if (number) return path.substr(0, next);
    if (names == 2) break;
    end = next;
  }
  return path.substr(0, end);
}

/// Seconds in kernels by first modules; what is in no module comes first, without a name.
std::map<std::string, double, NaturalOrder> seconds_by_module(const Measurement& m) {
  std::map<std::string, double, NaturalOrder> seconds;
  for (const MeasuredKernel& k : m.kernels) seconds[first_modules(k.path)] += k.seconds;
  return seconds;
}

std::string cut(const std::string& line, int width) {
  if (width <= 0 || visible_width(line) <= width) return line;
  std::string out = line;
  while (!out.empty() && visible_width(out) >= width) out.pop_back();
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
  return out + "~";
}

}  // namespace

std::string table_text(const Measurement& m, int width) {
  if (m.runs == 0) return m.more.empty() ? fmt::format("profile of {}: no run\n", m.program) : m.more;
  const double runs = static_cast<double>(m.runs);
  const auto share = [&](double time) { return m.loop > 0 ? 100 * time / m.loop : 0.0; };
  std::string out =
      fmt::format("profile of {}: {} run{} in {:.3f} s\n", m.program, m.runs, m.runs == 1 ? "" : "s", m.loop);
  out += fmt::format("{:>7} {:>11} {:>9} {:>8} {:>8} {:>6}  {}\n", "share", "us/run", "runs", "GF/s", "GB/s", "roof",
                     "line, module, op");
  const auto add = [&](double time, double once, int64_t count, double flops, double bytes, const std::string& what) {
    const bool work = flops > 0 || bytes > 0;
    const double reached = work && time > 0 ? 100 * roofline().share(flops / time, bytes / time) : 0;
    out += cut(fmt::format("{:6.1f}% {:11.2f} {:9} {:>8} {:>8} {:>6}  {}", share(time), once * 1e6, count,
                           work ? rate(flops, time) : "", work ? rate(bytes, time) : "",
                           work ? fmt::format("{:.0f}%", reached) : "", what),
               width) +
           "\n";
  };
  double flops = 0, bytes = 0;
  for (const Row& row : rows_of(m)) {
    add(row.seconds, row.seconds / static_cast<double>(std::max<int64_t>(row.runs, 1)), row.runs, row.flops, row.bytes,
        row.what + (row.kernels > 1 ? fmt::format(" x {}", row.kernels) : ""));
    flops += row.flops;
    bytes += row.bytes;
  }
  add(m.in_kernels, m.in_kernels / runs, m.runs, flops, bytes,
      fmt::format("total of {} kernel{}", m.kernels.size(), m.kernels.size() == 1 ? "" : "s"));
  const auto rest = [&](double time, const char* what) {
    time = std::max(time, 0.0);
    add(time, time / runs, m.runs, 0, 0, what);
  };
  rest(m.in_runs - m.in_kernels, "in session.run, outside kernels");
  rest(m.loop - m.in_runs, "outside session.run");
  rest(m.loop, "total");
  out += fmt::format("memory: {} planned (variables {}, constants {}, arena {}); the process took {} for the session\n",
                     bytes_text(m.variables + m.constants + m.arena), bytes_text(m.variables), bytes_text(m.constants),
                     bytes_text(m.arena), bytes_text(m.resident));
  if (const auto modules = seconds_by_module(m); modules.size() > 1) {
    out += "kernels by module\n";
    for (const auto& [module, time] : modules)
      out += cut(fmt::format("{:6.1f}% {:11.2f}  {}", share(time), time / runs * 1e6,
                             module.empty() ? "in no module" : module),
                 width) +
             "\n";
  }
  return out + m.more;
}

std::vector<std::pair<std::string_view, double>> parts_of(const ScriptMeasurement& m) {
  double kernels = 0, runs = 0, making = 0;
  for (const Measurement& s : m.sessions) kernels += s.in_kernels, runs += s.in_runs, making += s.making;
  return {{"kernels", kernels},
          {"session.run, outside kernels", runs - kernels},
          {"making of sessions: checks and plans", making},
          {"the rest of the script", m.seconds - runs - making}};
}

std::string summary_text(const ScriptMeasurement& m, int width) {
  std::string out = fmt::format("{}: {:.3f} s\n", m.file, m.seconds);
  const auto line = [&](double time, std::string_view what) {
    out +=
        cut(fmt::format("{:11.3f} s {:6.1f}%  {}", time, m.seconds > 0 ? 100 * time / m.seconds : 0.0, what), width) +
        "\n";
  };
  for (const auto& [what, time] : parts_of(m)) line(time, what);
  line(m.seconds, "total");
  out += fmt::format("at most {} of memory; this machine reaches {:.1f} GF/s and {:.1f} GB/s\n",
                     bytes_text(m.resident_peak), roofline().flops * 1e-9, roofline().bytes * 1e-9);
  for (const Measurement& s : m.sessions) out += "\n" + table_text(s, width);
  return out;
}

}  // namespace pxl
