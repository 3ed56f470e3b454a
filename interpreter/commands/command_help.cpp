#include <fmt/format.h>

#include <algorithm>

#include "interpreter/commands/commands.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/tools/help/help.hpp"
#include "interpreter/tools/theme.hpp"
#include "runtime/base/text/wrap.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
namespace {

/// Arranges words in lines of the terminal's width.
std::string filled(const std::vector<std::string>& words, int width, std::string_view indent) {
  std::string out(indent);
  int column = static_cast<int>(indent.size());
  for (const std::string& word : words) {
    const int length = static_cast<int>(word.size()) + 1;
    if (column + length > width && column > static_cast<int>(indent.size())) {
      while (out.back() == ' ') out.pop_back();
      out += "\n" + std::string(indent);
      column = static_cast<int>(indent.size());
    }
    out += word + " ";
    column += length;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

void overview(Console& console) {
  const int width = std::max(40, console.columns() - 1);
  std::string text =
      "An input is a statement or an expression; the value of the last one is `_`, a `;` at its end hides it.\n\n";
  size_t left = 0;
  for (const ReplCommand& c : repl_commands()) left = std::max(left, c.name.size() + c.arguments.size() + 2);
  for (const ReplCommand& c : repl_commands()) {
    const std::string head = fmt::format(":{} {}", c.name, c.arguments);
    if (width >= 72)
      text += fmt::format("  {:<{}}  {}\n", head, left, c.doc);
    else
      text += fmt::format("{}\n    {}\n", head, c.doc);
  }
  text += "\n`:help NAME`, `?NAME` and `NAME?` describe one of these.\n";
  for (const OpGroup& group : op_groups()) {
    std::vector<std::string> names;
    for (const OpRow* row : group.rows) names.emplace_back(row->name);
    text += fmt::format("\n{}\n{}\n", group.family.empty() ? "ops" : "ops." + group.family, filled(names, width, "  "));
  }
  Interpreter& in = console.engine().interpreter();
  std::vector<std::string> functions;
  for (const std::string& name : evaluator_of(in).prelude()->visible_names()) {
    const OpRow* row = find_op(name);
    if ((!row || row->path.empty()) && name != "_") functions.push_back(name);
  }
  std::sort(functions.begin(), functions.end());
  text += fmt::format("\nfunctions, types and constants\n{}\n", filled(functions, width, "  "));
  std::vector<std::string> words;
  for (const auto* all : {&reserved_words(), &declaring_words()})
    for (const std::string& word : *all)
      if (!word_help(word).empty()) words.push_back(word);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  text += fmt::format("\nkeywords\n{}\n", filled(words, width, "  "));
  text += fmt::format("\nlibrary\n{}\n", filled(library_modules(), width, "  "));
  console.print_long(text);
}

}  // namespace

void command_help(Console& console, std::string_view arguments) {
  if (arguments.empty()) return overview(console);
  if (arguments.front() == ':') {
    for (const ReplCommand& c : repl_commands()) {
      if (!c.name.starts_with(arguments.substr(1))) continue;
      console.print(fmt::format(":{} {}\n  {}", c.name, c.arguments, c.doc));
      return;
    }
  }
  const Inspection found = console.engine().help(arguments);
  if (found.found) {
    const std::string text = wrap_lines(found.text, std::clamp(console.columns() - 1, 40, 100));
    return console.print_long(console.colour() && found.type == "op" ? colour_schedule(text) : text);
  }
  for (const ReplCommand& c : repl_commands())
    if (c.name == arguments) return console.print(fmt::format(":{} {}\n  {}", c.name, c.arguments, c.doc));
  std::string text = found.text;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  console.print_error(text);
}

}  // namespace pxl
