#include "interpreter/jupyter/kernel.hpp"

#include <fmt/format.h>

#include <chrono>
#include <xeus/xhelper.hpp>

#include "interpreter/jupyter/positions.hpp"
#include "interpreter/jupyter/rich.hpp"
#include "interpreter/tools/help.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/interrupt.hpp"

namespace pxl::jupyter {

using nlohmann::json;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

EngineOptions options(std::function<void(std::string_view)> out, std::function<void(std::string_view)> err,
                      std::function<void(const std::string&, const std::string&)> picture) {
  EngineOptions o;
  o.picture = std::move(picture);
  o.out = std::move(out);
  o.err = std::move(err);
  o.terminal = true;  // a page handles carriage returns, so bars are redrawn in place
  return o;
}

// Help requests as in the REPL: "gelu?" and "?gelu". Empty for other texts.
std::string asked_name(std::string_view code) {
  const std::optional<std::string> asked = question(code);
  if (!asked) return {};
  for (const char c : *asked)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && static_cast<unsigned char>(c) < 0x80)
      return {};
  return *asked;
}

/// Takes a first line `%%time` out of a cell; lines keep their numbers.
bool take_time_magic(std::string& code) {
  constexpr std::string_view magic = "%%time";
  const size_t end = std::min(code.find('\n'), code.size());
  const std::string_view line = std::string_view(code).substr(0, end);
  if (!line.starts_with(magic) || line.find_first_not_of(" \t\r", magic.size()) != line.npos) return false;
  code.erase(0, end);
  return true;
}

/// "850 us", "12.3 ms", "1.25 s".
std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", 1e6 * seconds);
  if (seconds < 1) return fmt::format("{:.3g} ms", 1e3 * seconds);
  return fmt::format("{:.3g} s", seconds);
}

// xeus 2.4 swaps the name and the text in its own helper for errors.
json error_reply(const std::string& name, const std::string& what, const json& lines) {
  return {{"status", "error"}, {"ename", name}, {"evalue", what}, {"traceback", lines}};
}

}  // namespace

Kernel::Kernel()
    : engine_(
          options([this](std::string_view text) { write("stdout", text); },
                  // Notices and bars: pages show the stream of errors in red, and errors have messages of their own.
                  [this](std::string_view text) { write("stdout", text); },
                  [this](const std::string& svg, const std::string& title) { draw(svg, title); })) {
  xeus::register_interpreter(this);
}

void Kernel::write(const char* stream, std::string_view text) {
  if (silent_) return;
  if (stream_ != stream) flush();
  stream_ = stream;
  pending_ += text;
  if (pending_.size() > 8192 || now() - sent_ > 0.1) flush();
}

// A chart whose title the cell has shown before replaces the previous one, so that a curve grows during training.
void Kernel::draw(const std::string& svg, const std::string& title) {
  if (silent_) return;
  flush();
  const json data = {{"image/svg+xml", svg}, {"text/plain", title.empty() ? "<chart>" : "<chart " + title + ">"}};
  const json transient = {{"display_id", fmt::format("pxl-{}-{}", cell_, title)}};
  if (!title.empty() && !drawn_.insert(title).second)
    update_display_data(data, json::object(), transient);
  else
    display_data(data, json::object(), title.empty() ? json::object() : transient);
}

void Kernel::flush() {
  if (!pending_.empty()) publish_stream(stream_, pending_);
  pending_.clear();
  sent_ = now();
}

json Kernel::execute_request_impl(int number, const std::string& cell, bool silent, bool, json user_expressions, bool) {
  silent_ = silent;
  cell_ = number;
  drawn_.clear();
  std::string code = cell;
  const bool timed = take_time_magic(code);
  const double began = now();
  if (const std::string name = asked_name(code); !name.empty()) {
    const Inspection help = engine_.help(name);
    const json page = {{"source", "page"}, {"start", 0}, {"data", {{"text/plain", help.text}}}};
    return xeus::create_successful_reply(json::array({page}), json::object());
  }
  const Outcome outcome = engine_.submit(code);
  if (timed) write("stdout", fmt::format("time: {}\n", time_text(now() - began)));
  flush();
  silent_ = false;
  switch (outcome.kind) {
    case Outcome::Kind::interrupted: {
      const std::string what =
          outcome.kept ? "interrupted; values computed so far are kept" : "interrupted; the session is unchanged";
      publish_execution_error("Interrupted", what, {what});
      return error_reply("Interrupted", what, json::array({what}));
    }
    case Outcome::Kind::failed: {
      std::vector<std::string> lines;
      for (const Diagnostic& d : outcome.diagnostics) lines.push_back(render(d, true));
      const std::string what = outcome.diagnostics.empty() ? "failed" : outcome.diagnostics.front().message;
      // In the notebook's format: "shape: matmul: inner dimensions differ ...".
      const std::string kind(outcome.diagnostics.empty() ? codes::internal : code_of(outcome.diagnostics.front()));
      if (!silent) publish_execution_error(kind, what, lines);
      return error_reply(kind, what, json(lines));
    }
    case Outcome::Kind::exited:
      return xeus::create_successful_reply(json::array({{{"source", "ask_exit"}, {"keepkernel", false}}}),
                                           json::object());
    case Outcome::Kind::done: break;
  }
  if (!silent && !outcome.shown.empty())
    publish_execution_result(number, rich(engine_, outcome.value, outcome.shown), json::object());
  json answers = json::object();
  for (const auto& [key, text] : user_expressions.items()) {
    json& answer = answers[key];
    answer = {{"status", "error"}, {"ename", "Error"}, {"evalue", "no value"}, {"traceback", json::array()}};
    if (!text.is_string()) continue;
    const Outcome failed = engine_.aside(text.get<std::string>(), [&](const Value& v) {
      answer = {{"status", "ok"}, {"data", rich(engine_, v, engine_.show(v))}, {"metadata", json::object()}};
    });
    if (!failed.ok() && !failed.diagnostics.empty()) answer["evalue"] = failed.diagnostics.front().message;
  }
  return xeus::create_successful_reply(json::array(), answers);
}

json Kernel::complete_request_impl(const std::string& code, int cursor) {
  const Completions found = engine_.complete(code, bytes_of(code, cursor));
  json matches = json::array(), kinds = json::array();
  const int begin = points_of(code, found.begin), end = points_of(code, found.end);
  for (const Completion& c : found.items) {
    matches.push_back(c.text);
    kinds.push_back({{"start", begin},
                     {"end", end},
                     {"text", c.text},
                     {"type", std::string(text(c.kind))},
                     {"signature", c.detail}});
  }
  return xeus::create_complete_reply(matches, begin, end, {{"_jupyter_types_experimental", kinds}});
}

json Kernel::inspect_request_impl(const std::string& code, int cursor, int) {
  const std::optional<Inspection> found = engine_.inspect(code, bytes_of(code, cursor));
  if (!found || !found->found) return xeus::create_inspect_reply(false);
  return xeus::create_inspect_reply(true, {{"text/plain", found->text}});
}

json Kernel::is_complete_request_impl(const std::string& code) {
  std::string text = code;
  if (take_time_magic(text) && text.find_first_not_of(" \n") == text.npos)
    return xeus::create_is_complete_reply("incomplete", "");
  switch (Engine::status(text)) {
    case Completeness::complete: return xeus::create_is_complete_reply("complete");
    case Completeness::invalid: return xeus::create_is_complete_reply("invalid");
    case Completeness::incomplete: break;
  }
  // The next line is indented by one level for each open bracket.
  int depth = 0;
  for (const ClassifiedToken& t : Engine::highlight(text)) {
    if (t.kind != TokenClass::bracket) continue;
    const char c = text[t.begin];
    depth += c == '(' || c == '[' || c == '{' ? 1 : -1;
  }
  return xeus::create_is_complete_reply("incomplete", std::string(static_cast<size_t>(2 * std::max(depth, 0)), ' '));
}

json Kernel::kernel_info_request_impl() {
  // Notebooks know neither a mode nor a lexer of pxl: Python's are near enough for colours.
  return xeus::create_info_reply("5.3", "pxl", PXL_VERSION, "pxl", PXL_VERSION, "text/x-pxl", ".pxl", "python",
                                 "python", "", "pxl " PXL_VERSION ": explicit tensor graphs");
}

void Kernel::shutdown_request_impl() {}

}  // namespace pxl::jupyter
