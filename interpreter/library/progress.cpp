// progress(iterable, title): shows the progress of a loop. It redraws a bar in place on a terminal, at most ten times a
// second. Elsewhere it prints a plain line every few seconds.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>

#include "interpreter/library/builtins.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/text/strings.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/source.hpp"

namespace pxl {

namespace {

using Clock = std::chrono::steady_clock;

std::string clock_text(double seconds) {
  if (!(seconds >= 0 && seconds < 3.6e8)) return "?";
  const auto s = static_cast<int64_t>(seconds);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{:02}:{:02}", s / 60, s % 60);
}

// Elements per second, or seconds per element. A very fast loop still has at most four digits.
std::string speed_text(double rate) {
  if (!(rate > 0)) return "?it/s";
  if (rate < 1) return fmt::format("{:.2f}s/it", 1 / rate);
  if (rate < 1e4) return fmt::format("{:.1f}it/s", rate);
  if (rate < 1e7) return fmt::format("{:.0f}kit/s", rate / 1e3);
  return fmt::format("{:.0f}Mit/s", rate / 1e6);
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

struct ProgressObject final : Object {
  Interpreter& in;
  Value items;
  std::string title, status;
  std::optional<int64_t> total;
  int64_t done = 0;
  Clock::time_point start, last;
  bool running = false;
  int drawn = 0;  ///< columns drawn on the terminal's line

  ProgressObject(Interpreter& i, Value v, std::string t) : in(i), items(std::move(v)), title(std::move(t)) {}
  std::string type_name() const override { return "progress"; }
  std::string repr(Interpreter&) override { return fmt::format("<progress {}>", title); }
  std::optional<int64_t> length(Interpreter&) override { return total; }
  std::vector<std::string> member_names() const override { return {"status"}; }

  std::optional<Value> member(Interpreter&, std::string_view name) override {
    if (name != "status") return std::nullopt;
    auto self = static_ref_cast<ProgressObject>(shared_from_this());
    return make_method(Effect::prints, "status", [self](Interpreter&, const Arguments& args) -> Value {
      self->status = ArgReader("status", args, {"text"}).string("text");
      self->show(false);
      return {};
    });
  }

  std::optional<Iterator> iterate(Interpreter&) override {
    auto self = static_ref_cast<ProgressObject>(shared_from_this());
    if (items.is_object() && !total) total = items.object()->length(in);
    done = 0;
    start = Clock::now();
    last = start - std::chrono::hours(1);
    running = true;
    return Iterator([self, it = iterator_of(in, items), first = true]() mutable -> std::optional<Value> {
      if (!first) ++self->done;
      first = false;
      // Draws the bar before the work on an element, so that the bar shows finished elements.
      std::optional<Value> v = it();
      if (!v) {
        self->finish();
        return std::nullopt;
      }
      self->show(false);
      return v;
    });
  }

  void finish() {
    if (!running) return;
    running = false;
    show(true);
  }

  // If the loop ends early (break, an error), the bar still ends its line.
  ~ProgressObject() override {
    if (running && drawn) host_of(in).notice("\n");
    items.bury();
  }

  std::string line(int width) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    const std::string speed = speed_text(rate);
    const std::string note = status.empty() ? "" : ", " + status;
    const std::string head = title.empty() ? "" : title + ": ";
    if (!total) return fmt::format("{}{}it [{}, {}{}]", head, done, clock_text(seconds), speed, note);
    const double part = *total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(*total)) : 1.0;
    const double left = done >= *total ? 0 : rate > 0 ? static_cast<double>(*total - done) / rate : -1;
    const std::string before = fmt::format("{}{:3.0f}%|", head, std::floor(part * 100));
    const std::string after =
        fmt::format("| {}/{} [{}<{}, {}{}]", done, *total, clock_text(seconds), clock_text(left), speed, note);
    const int room = std::min(40, width - display_width(before) - display_width(after) - 1);
    if (room < 4) return before.substr(0, before.size() - 1) + after.substr(1);
    // Eighths of a cell, as tqdm draws them.
    static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int filled = static_cast<int>(part * room * 8);
    std::string bar;
    for (int i = 0; i < filled / 8; ++i) bar += "█";
    bar += eighths[filled % 8];
    for (int i = (filled + 7) / 8; i < room; ++i) bar += ' ';
    return before + bar + after;
  }

  void show(bool final) {
    if (!permits(Effect::prints) || host_of(in).options().quiet || (!running && !final)) return;
    const auto now = Clock::now();
    const auto pause =
        host_of(in).options().terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
    if (!final && now - last < pause) return;
    if (!host_of(in).options().terminal) {
      // The first line of a short loop would say nothing. Only long loops print lines before the last one.
      const bool begin = last < start;
      last = now;
      if (!begin || final) host_of(in).notice(line(100) + "\n");
      return;
    }
    last = now;
    const int width = terminal_width();
    std::string text = cleaned(line(width));
    while (display_width(text) >= width && !text.empty()) text.resize(code_point_offset(text, code_points(text) - 1));
    const int columns = display_width(text);
    std::string out = "\r" + text + std::string(static_cast<size_t>(std::max(0, drawn - columns)), ' ');
    drawn = columns;
    if (final) out += "\n", drawn = 0;
    host_of(in).draw(out);
  }
};

}  // namespace

void bind_progress_builtin(Scope& p) {
  define(
      p, {Effect::prints, Effect::time},
      {"progress(items, title = \"\")", "Iterates and shows how far it got; `.status(text)` adds a note.", R"(total = 0
for i in progress(range(3), "adding") { total = total + i }
total)"},
      [](Interpreter& in, const Arguments& args) -> Value {
        ArgReader a(args);
        return make_ref<ProgressObject>(in, a.value("items"), a.string("title"));
      },
      InLook::calls_body);
}

}  // namespace pxl
