#include "interpreter/jupyter/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <xeus/xhelper.hpp>

#include "interpreter/commands/commands.hpp"
#include "interpreter/jupyter/positions.hpp"
#include "interpreter/jupyter/rich.hpp"
#include "interpreter/tools/help/doc_page.hpp"
#include "interpreter/tools/help/help.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/text.hpp"

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
  o.terminal = true;  // a page interprets carriage returns, so bars are redrawn in place
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

/// Removes a first line `%%time` from a cell; lines keep their numbers.
bool take_time_magic(std::string& code) {
  constexpr std::string_view magic = "%%time";
  const size_t end = std::min(code.find('\n'), code.size());
  const std::string_view line = std::string_view(code).substr(0, end);
  if (!line.starts_with(magic) || line.find_first_not_of(" \t\r", magic.size()) != line.npos) return false;
  code.erase(0, end);
  return true;
}

/// Formats a time: "850 us", "12.3 ms", "1.25 s".
std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", 1e6 * seconds);
  if (seconds < 1) return fmt::format("{:.3g} ms", 1e3 * seconds);
  return fmt::format("{:.3g} s", seconds);
}

// Replaces xeus's helper for errors, since xeus 2.4 swaps the name and the text.
json error_reply(const std::string& name, const std::string& what, const json& lines) {
  return {{"status", "error"}, {"ename", name}, {"evalue", what}, {"traceback", lines}};
}

}  // namespace

Kernel::Kernel()
    : engine_(
          // Notices and bars go to standard output too, since pages show standard error in red. Errors have their own
          // messages.
          options([this](std::string_view text) { write(text); }, [this](std::string_view text) { write(text); },
                  [this](const std::string& svg, const std::string& title) { draw(svg, title); })) {
  xeus::register_interpreter(this);
}

void Kernel::write(std::string_view text) {
  if (silent_) return;
  pending_ += text;
  if (pending_.size() > 8192 || now() - sent_ > 0.1) flush();
}

namespace {

json display_id(int cell, const std::string& title) { return {{"display_id", fmt::format("pxl-{}-{}", cell, title)}}; }

}  // namespace

// If the cell has shown a chart with this title, the new chart replaces it, so that a curve grows during training. The
// raster picture takes longer and is made for the last chart only.
void Kernel::draw(const std::string& svg, const std::string& title) {
  if (silent_) return;
  flush();
  if (title.empty()) {
    const Bundle chart = picture_bundle(svg, "<chart>");
    return display_data(chart.data, chart.metadata, json::object());
  }
  const json data = vector_forms(svg, "<chart " + title + ">");
  const bool first = charts_.insert_or_assign(title, svg).second;
  first ? display_data(data, json::object(), display_id(cell_, title))
        : update_display_data(data, json::object(), display_id(cell_, title));
}

void Kernel::finish_charts() {
  for (const auto& [title, svg] : charts_) {
    const Bundle chart = picture_bundle(svg, "<chart " + title + ">");
    if (chart.data.contains("image/png")) update_display_data(chart.data, chart.metadata, display_id(cell_, title));
  }
  charts_.clear();
}

void Kernel::flush() {
  if (!pending_.empty()) publish_stream("stdout", pending_);
  pending_.clear();
  sent_ = now();
}

// ---- commands

void Kernel::print(std::string_view text) {
  write(text);
  if (!text.empty() && text.back() != '\n') write("\n");
}
void Kernel::print_error(std::string_view text) { command_error_ = text; }

void Kernel::report(const Outcome& o) {
  if (!o.diagnostics.empty()) last_error = code_of(o.diagnostics.front());
  if (o.kind == Outcome::Kind::exited) done = true;
  if (o.kind == Outcome::Kind::failed || o.kind == Outcome::Kind::interrupted) failed_ = o;
  if (silent_ || o.shown.empty()) return;
  flush();
  const Bundle shown = rich(engine_, o.value, o.shown);
  display_data(shown.data, shown.metadata, json::object());
}

bool Kernel::show_graph(const Graph& graph) {
  if (silent_) return true;
  flush();
  const Bundle picture = graph_bundle(engine_, graph, "<graph>");
  display_data(picture.data, picture.metadata, json::object());
  return true;
}

/// The commands of a cell: one per line if each line begins with `:`, otherwise the whole cell is one command.
static std::vector<std::string> commands_of(std::string_view code) {
  std::vector<std::string> lines;
  for (size_t at = 0; at <= code.size();) {
    const size_t end = std::min(code.find('\n', at), code.size());
    if (const std::string_view line = trimmed(code.substr(at, end - at)); !line.empty()) lines.emplace_back(line);
    at = end + 1;
  }
  if (std::all_of(lines.begin(), lines.end(), [](const std::string& line) { return line[0] == ':'; })) return lines;
  return {std::string(trimmed(code))};
}

json Kernel::run_commands(const std::string& code) {
  failed_.reset();
  command_error_.clear();
  for (const std::string& command : commands_of(code)) {
    const Outcome o = engine_.guard([&] { run_command(*this, command.substr(1)); });
    if (!o.ok()) report(o);
    if (failed_ || !command_error_.empty() || done) break;
  }
  finish_charts();
  flush();
  if (failed_) return failure_reply(*failed_);
  if (!command_error_.empty()) return failure_reply("command", command_error_, {command_error_});
  json payload = json::array();
  if (std::exchange(done, false)) payload.push_back({{"source", "ask_exit"}, {"keepkernel", false}});
  return xeus::create_successful_reply(payload, json::object());
}

// ---- requests

json Kernel::failure_reply(const std::string& name, const std::string& what, const std::vector<std::string>& lines) {
  if (!silent_) publish_execution_error(name, what, lines);
  return error_reply(name, what, json(lines));
}

json Kernel::failure_reply(const Outcome& o) {
  if (o.kind == Outcome::Kind::interrupted) {
    const std::string what = "interrupted" + (o.left.empty() ? "" : ": " + o.left);
    return failure_reply("Interrupted", what, {what});
  }
  std::vector<std::string> lines;
  for (const Diagnostic& d : o.diagnostics) lines.push_back(render(d, true));
  if (!o.left.empty()) lines.push_back(o.left);
  const std::string what = o.diagnostics.empty() ? "failed" : o.diagnostics.front().message;
  // The notebook shows the kind before the message: "shape: matmul: inner dimensions differ ...".
  const std::string kind(o.diagnostics.empty() ? codes::internal : code_of(o.diagnostics.front()));
  last_error = kind;
  return failure_reply(kind, what, lines);
}

json Kernel::execute(int number, const std::string& cell, bool silent, const json& user_expressions) {
  silent_ = silent;
  cell_ = number;
  sent_ = 0;  // the first output of a cell is shown at once
  charts_.clear();
  // Errors name an input by the number beside the cell on the page.
  if (!silent) engine_.number_next(number);
  std::string code = cell;
  const bool timed = take_time_magic(code);
  const double began = now();
  if (const std::string name = asked_name(code); !name.empty()) {
    const Inspection help = engine_.help(name);
    const json page = {{"source", "page"}, {"start", 0}, {"data", help_data(name, help.text)}};
    return xeus::create_successful_reply(json::array({page}), json::object());
  }
  if (trimmed(code).starts_with(':')) return run_commands(code);
  const Outcome outcome = engine_.submit(code);
  if (timed) write(fmt::format("time: {}\n", time_text(now() - began)));
  finish_charts();
  flush();
  switch (outcome.kind) {
    case Outcome::Kind::interrupted:
    case Outcome::Kind::failed: return failure_reply(outcome);
    case Outcome::Kind::exited:
      return xeus::create_successful_reply(json::array({{{"source", "ask_exit"}, {"keepkernel", false}}}),
                                           json::object());
    case Outcome::Kind::done: break;
  }
  if (!silent && !outcome.shown.empty()) {
    const Bundle shown = rich(engine_, outcome.value, outcome.shown);
    publish_execution_result(number, shown.data, shown.metadata);
  }
  json answers = json::object();
  for (const auto& [key, text] : user_expressions.items()) {
    json& answer = answers[key];
    answer = {{"status", "error"}, {"ename", "Error"}, {"evalue", "no value"}, {"traceback", json::array()}};
    if (!text.is_string()) continue;
    const Outcome failed = engine_.aside(text.get<std::string>(), [&](const Value& v) {
      const Bundle shown = rich(engine_, v, engine_.show(v));
      answer = {{"status", "ok"}, {"data", shown.data}, {"metadata", shown.metadata}};
    });
    if (!failed.ok() && !failed.diagnostics.empty()) answer["evalue"] = failed.diagnostics.front().message;
  }
  return xeus::create_successful_reply(json::array(), answers);
}

json Kernel::help_data(const std::string& name, const std::string& text) {
  json data = {{"text/plain", text}};
  const std::string first = name.substr(0, name.find('.'));
  const auto names = engine_.names();
  if (std::any_of(names.begin(), names.end(), [&](const auto& one) { return one.first == first; })) return data;
  std::optional<DocPage> page;
  if (engine_.guard([&] { page = help_page(engine_.interpreter(), name); }).ok() && page)
    data["text/html"] = doc_html_entries(*page);
  return data;
}

json Kernel::complete_request_impl(const std::string& code, int cursor) {
  const size_t at = bytes_of(code, cursor);
  // A command is completed within its line.
  const size_t line = at == 0 ? 0 : code.rfind('\n', at - 1) + 1;
  const bool is_command = trimmed(code).starts_with(':') && trimmed(code.substr(line)).starts_with(':');
  Completions found = is_command ? complete_command(*this, code.substr(line), at - line) : engine_.complete(code, at);
  if (is_command) found.begin += line, found.end += line;
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
  return xeus::create_inspect_reply(true, help_data(found->name, found->text));
}

json Kernel::is_complete_request_impl(const std::string& code) {
  std::string text = code;
  if (take_time_magic(text) && text.find_first_not_of(" \n") == text.npos)
    return xeus::create_is_complete_reply("incomplete", "");
  if (trimmed(text).starts_with(':')) return xeus::create_is_complete_reply("complete");
  switch (Engine::status(text)) {
    case Completeness::complete: return xeus::create_is_complete_reply("complete");
    case Completeness::invalid: return xeus::create_is_complete_reply("invalid");
    case Completeness::incomplete: break;
  }
  return xeus::create_is_complete_reply("incomplete", Engine::indentation(text));
}

json Kernel::kernel_info_request_impl() {
  // Notebooks have no mode or lexer for pxl; Python's colours are close enough.
  return xeus::create_info_reply("5.3", "pxl", PXL_VERSION, "pxl", PXL_VERSION, "text/x-pxl", ".pxl", "python",
                                 "python", "", "pxl " PXL_VERSION ": explicit tensor graphs");
}

void Kernel::shutdown_request_impl() {}

}  // namespace pxl::jupyter
