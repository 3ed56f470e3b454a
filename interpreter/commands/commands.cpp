#include "interpreter/commands/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/tools/help/explain.hpp"
#include "interpreter/tools/help/help.hpp"
#include "interpreter/tools/inspection.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/text/text.hpp"

namespace pxl {
namespace {

bool need(Console& console, std::string_view arguments, std::string_view what) {
  if (!arguments.empty()) return true;
  console.print_error(what);
  return false;
}

}  // namespace

void command_vars(Console& console, std::string_view arguments) {
  auto names = console.engine().names();
  if (names.empty()) return console.print("no names are defined");
  std::erase_if(names, [&](const auto& one) { return one.first.find(arguments) == one.first.npos; });
  if (names.empty()) return console.print(fmt::format("no name contains `{}`", arguments));
  size_t name_width = 0, type_width = 0;
  std::vector<std::string> types;
  for (const auto& [name, value] : names) {
    types.push_back(type_text(console.engine().interpreter(), value));
    name_width = std::max(name_width, name.size());
    type_width = std::max(type_width, std::min<size_t>(types.back().size(), 32));
  }
  const int width = console.columns();
  for (size_t i = 0; i < names.size(); ++i) {
    const int left = width - static_cast<int>(name_width + type_width) - 5;
    std::string line = fmt::format("{:<{}}  {:<{}}", names[i].first, name_width, types[i], type_width);
    if (left >= 12) line += "  " + summary(console.engine().interpreter(), names[i].second, left);
    console.print(line);
  }
}

void command_type(Console& console, std::string_view arguments) {
  if (!need(console, arguments, ":type: an expression is required")) return;
  std::string shown;
  const Outcome o = console.engine().aside(arguments, [&](const Value& v) {
    shown = type_text(console.engine().interpreter(), v);
    if (const auto s = signature_of(console.engine().interpreter(), v)) shown += "  " + s->text();
  });
  console.report(o);
  if (o.ok()) console.print(shown);
}

void command_eval(Console& console, std::string_view arguments) {
  if (arguments.empty() && console.engine().last().is_none()) return console.print_error("there is no last value");
  std::string shown;
  const Outcome o = console.engine().aside(arguments.empty() ? "_" : arguments, [&](const Value& v) {
    Interpreter& in = console.engine().interpreter();
    shown = console.engine().show(invoke(in, *evaluator_of(in).prelude()->find_here("eval"), {v}));
  });
  console.report(o);
  if (o.ok()) console.print(shown);
}

std::string duration(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

void command_time(Console& console, std::string_view arguments) {
  if (!need(console, arguments, ":time: an input is required; `:time x100 INPUT` runs it 100 times")) return;
  constexpr long most = 1000000;
  long count = 1;
  // `x3` alone is a name.
  const size_t space = arguments.find_first_of(" \t\n");
  const std::string digits(arguments.substr(1, space == arguments.npos ? 0 : space - 1));
  if (arguments.front() == 'x' && !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos) {
    count = digits.size() > 7 ? most + 1 : std::stol(digits);
    if (count < 1 || count > most)
      return console.print_error(fmt::format(":time: the number of runs must be from 1 to {}", most));
    arguments = trimmed(arguments.substr(space));
  }
  double total = 0, least = 0;
  for (long i = 0; i < count; ++i) {
    const Outcome o = console.engine().submit(arguments);
    if (i + 1 == count || !o.ok()) console.report(o);
    if (!o.ok()) return;
    total += o.seconds;
    least = i == 0 ? o.seconds : std::min(least, o.seconds);
  }
  console.print(count == 1 ? duration(total)
                           : fmt::format("{} runs: mean {}, minimum {}", count,
                                         duration(total / static_cast<double>(count)), duration(least)));
}

void command_load(Console& console, std::string_view arguments) {
  if (!need(console, arguments, ":load: a file is required")) return;
  std::string path(arguments);
  const char* home = std::getenv("HOME");
  if (path.starts_with("~/") && home) path = home + path.substr(1);
  console.load(path);
}

void command_reload(Console& console, std::string_view) {
  if (console.loaded.empty()) return console.print_error("no file was loaded: use `:load FILE`");
  const std::vector<std::string> files = std::move(console.loaded);
  console.loaded.clear();
  console.engine().reset();
  for (const std::string& file : files) {
    console.load(file);
    // A file that fails now is remembered for :reload, which retries it after the user has fixed it.
    if (std::find(console.loaded.begin(), console.loaded.end(), file) == console.loaded.end())
      console.loaded.push_back(file);
  }
  console.print(fmt::format("a new session with {}", join_texts(files, ", ")));
}

void command_save(Console& console, std::string_view arguments) {
  if (!need(console, arguments, ":save: a file is required")) return;
  std::string text;
  for (const std::string& input : console.engine().inputs()) text += input + "\n";
  try {
    write_file_atomically(std::string(arguments), text);
    console.print(fmt::format("{} in {}", counted(console.engine().inputs().size(), "input"), arguments));
  } catch (const Error& e) {
    console.print_error(e.what());
  }
}

void command_reset(Console& console, std::string_view) {
  console.engine().reset();
  console.loaded.clear();
  console.print("a new session");
}

void command_undo(Console& console, std::string_view arguments) {
  if (arguments.size() > 1 || arguments.find_first_not_of("12345678") != arguments.npos)
    return console.print_error(fmt::format(":undo: expected a number of inputs, at most {}", Engine::undo_depth));
  for (int left = arguments.empty() ? 1 : arguments[0] - '0'; left > 0; --left) {
    const std::optional<std::string> text = console.engine().undo();
    if (!text)
      return console.print_error(fmt::format("nothing to undo (up to {} inputs can be undone)", Engine::undo_depth));
    console.print("undone: " + text->substr(0, text->find('\n')) + (text->find('\n') == text->npos ? "" : " ..."));
  }
}

void command_history(Console& console, std::string_view arguments) {
  const std::vector<std::string> all = console.history();
  std::vector<const std::string*> shown;
  for (const std::string& input : all)
    if (input.find(arguments) != input.npos) shown.push_back(&input);
  const size_t from = shown.size() > 50 ? shown.size() - 50 : 0;
  for (size_t i = from; i < shown.size(); ++i) console.print(*shown[i]);
}

void command_explain(Console& console, std::string_view arguments) {
  const std::string kind(arguments.empty() ? console.last_error : arguments);
  if (kind.empty()) return console.print_error("no error yet; `:explain KIND` explains a kind");
  const std::string text = explanation_text(kind, std::clamp(console.columns() - 1, 40, 100));
  if (text.empty())
    return console.print_error(fmt::format("unknown kind of error `{}`{}", kind, explanation_hint(kind)));
  console.print(text);
}

void command_quit(Console& console, std::string_view) { console.done = true; }

namespace {

constexpr ReplCommand table[] = {
#define PXL_REPL_COMMAND(name, arguments, doc, argument, place) \
  {#name, arguments, doc, ReplCommand::Argument::argument, ReplCommand::Place::place, command_##name},
#include "interpreter/commands/commands.inc"
#undef PXL_REPL_COMMAND
};

}  // namespace

std::span<const ReplCommand> repl_commands() { return table; }

void run_command(Console& console, std::string_view text) {
  text = trimmed(text);
  const size_t space = text.find_first_of(" \t\n");
  const std::string_view name = text.substr(0, space);
  const std::string_view arguments = space == text.npos ? std::string_view() : trimmed(text.substr(space));
  std::vector<const ReplCommand*> fitting;
  for (const ReplCommand& c : table) {
    if (c.name == name) {
      fitting = {&c};
      break;
    }
    if (!name.empty() && c.name.starts_with(name)) fitting.push_back(&c);
  }
  if (fitting.size() == 1) {
    const ReplCommand& c = *fitting.front();
    if (c.arguments.empty() && !arguments.empty())
      return console.print_error(fmt::format(":{}: unexpected argument `{}`", c.name, arguments));
    if (c.place == ReplCommand::Place::terminal && !console.interactive())
      return console.print_error(fmt::format(":{} asks questions: use it in `pxl` on a terminal", c.name));
    return c.run(console, arguments);
  }
  std::string list;
  if (name.empty()) {
    for (const ReplCommand& c : table) list += fmt::format("{}:{}", list.empty() ? "" : " ", c.name);
    return console.print_error("a command's name is missing: " + list);
  }
  std::vector<std::string> names;
  for (const ReplCommand& c : table) names.emplace_back(c.name);
  if (fitting.empty()) {
    const std::string hint = did_you_mean(name, names);
    return console.print_error(
        fmt::format("unknown command `:{}`{}; `:help` lists the commands", name, hint.empty() ? "" : "; " + hint));
  }
  for (const ReplCommand* c : fitting) list += fmt::format("{}:{}", list.empty() ? "" : ", ", c->name);
  console.print_error(fmt::format("`:{}` is ambiguous: {}", name, list));
}

Completions complete_command(Console& console, std::string_view line, size_t cursor) {
  Completions found;
  found.begin = found.end = cursor;
  const size_t from = line.find_first_not_of(" \t");
  const std::string_view text = line.substr(0, cursor);
  const size_t space = text.find_first_of(" \t", from + 1);
  auto topics = [&](size_t begin) {
    found.begin = begin;
    const std::string_view prefix = text.substr(begin);
    std::vector<std::string> names = help_names(console.engine().interpreter());
    for (const auto& [name, value] : console.engine().names()) names.push_back(name);
    for (std::string& n : names)
      if (n.starts_with(prefix)) found.items.push_back({std::move(n), Completion::Kind::name, {}});
    std::sort(found.items.begin(), found.items.end(),
              [](const Completion& a, const Completion& b) { return a.text < b.text; });
  };
  if (line[from] == '?') {
    topics(from + 1);
    return found;
  }
  if (space == text.npos) {
    found.begin = from + 1;
    for (const ReplCommand& c : table)
      if (c.name.starts_with(text.substr(from + 1)) &&
          (c.place == ReplCommand::Place::anywhere || console.interactive()))
        found.items.push_back({std::string(c.name), Completion::Kind::command, std::string(c.doc)});
    std::sort(found.items.begin(), found.items.end(),
              [](const Completion& a, const Completion& b) { return a.text < b.text; });
    return found;
  }
  const std::string_view name = text.substr(from + 1, space - from - 1);
  const ReplCommand* command = nullptr;
  for (const ReplCommand& c : table)
    if (c.name.starts_with(name) && (!command || c.name == name)) command = &c;
  if (!command) return found;
  size_t begin = text.find_first_not_of(" \t", space);
  if (begin == text.npos) begin = cursor;
  switch (command->argument) {
    case ReplCommand::Argument::none: break;
    case ReplCommand::Argument::topic: topics(begin); break;
    case ReplCommand::Argument::file:
    case ReplCommand::Argument::program_file:
      found.begin = begin;
      for (std::string& path : complete_file(std::string(text.substr(begin)),
                                             command->argument == ReplCommand::Argument::program_file ? ".pxl" : ""))
        found.items.push_back({std::move(path), Completion::Kind::file, {}});
      break;
    case ReplCommand::Argument::error_kind:
      found.begin = begin;
      for (const std::string& code : explained_kinds())
        if (code.starts_with(text.substr(begin))) found.items.push_back({code, Completion::Kind::keyword, {}});
      break;
    case ReplCommand::Argument::on_off:
      found.begin = begin;
      for (const char* word : {"off", "on"})
        if (std::string_view(word).starts_with(text.substr(begin)))
          found.items.push_back({word, Completion::Kind::keyword, {}});
      break;
    case ReplCommand::Argument::expression: {
      found = console.engine().complete(text.substr(begin), cursor - begin);
      found.begin += begin;
      found.end += begin;
      break;
    }
  }
  return found;
}

}  // namespace pxl
