// Parses the arguments of commands, and generates their help from the same rows.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "interpreter/cli/command.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl::cli {

namespace {

Error usage_error(const Command& c, const std::string& message) {
  return Error(fmt::format("{}: {}", c.name, message), {fmt::format("usage: pxl {}", c.usage)}, Fault::usage);
}

const Flag* find_flag(const Command& c, std::string_view word) {
  for (const Flag& f : c.flags) {
    if (word == f.name || (!f.letter.empty() && word == f.letter)) return &f;
  }
  return nullptr;
}

std::string left_column(const Flag& f) {
  std::string text = f.letter.empty() ? std::string(f.name) : fmt::format("{}, {}", f.letter, f.name);
  if (!f.value.empty()) text += fmt::format(" {}", f.value);
  return text;
}

std::string rows(const std::vector<std::pair<std::string, std::string_view>>& all) {
  size_t width = 0;
  for (const auto& [left, right] : all) width = std::max(width, std::min<size_t>(left.size(), 32));
  std::string text;
  for (const auto& [left, right] : all) text += fmt::format("  {:{}}  {}\n", left, width, right);
  return text;
}

std::string flag_rows(std::span<const Flag> flags) {
  std::vector<std::pair<std::string, std::string_view>> all;
  for (const Flag& f : flags) all.emplace_back(left_column(f), f.doc);
  return rows(all);
}

// The choices of a flag's value, "a|b|c"; empty if the value is free.
std::vector<std::string> choices(std::string_view value) {
  std::vector<std::string> out;
  if (value.find('|') == value.npos) return out;
  for (size_t at = 0; at <= value.size();) {
    const size_t end = std::min(value.find('|', at), value.size());
    out.emplace_back(value.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Keeps the end of a line that ends a sentence. Joins other lines, since the text is filled to the terminal's width.
std::string joined_lines(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) out += text[i] == '\n' && i > 0 && text[i - 1] != '.' ? ' ' : text[i];
  return out;
}

}  // namespace

std::string Invocation::value(std::string_view flag, std::string otherwise) const {
  const auto found = flags.find(flag);
  return found == flags.end() ? std::move(otherwise) : found->second;
}

Invocation parse_flags(const Command& command, const std::vector<std::string>& arguments, size_t least) {
  Invocation out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {
      out.operands.insert(out.operands.end(), arguments.begin() + static_cast<ptrdiff_t>(i) + 1, arguments.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      out.operands.push_back(word);
      continue;
    }
    const size_t equals = word.compare(0, 2, "--") == 0 ? word.find('=') : word.npos;
    const std::string name = word.substr(0, equals);
    const Flag* flag = find_flag(command, name);
    if (!flag) {
      std::vector<std::string> names;
      for (const Flag& f : command.flags) names.emplace_back(f.name);
      const auto near = nearest(name, names);
      throw usage_error(command, fmt::format("unknown flag `{}`{}", name,
                                             near ? fmt::format(": did you mean `{}`?", *near) : std::string()));
    }
    std::string value;
    if (flag->value.empty()) {
      if (equals != word.npos) throw usage_error(command, fmt::format("`{}` takes no value", name));
    } else if (equals != word.npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      throw usage_error(command, fmt::format("`{}` needs a value ({})", name, flag->value));
    }
    const std::vector<std::string> allowed = choices(flag->value);
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
      throw usage_error(command, fmt::format("`{}` is {}, not `{}`", name, flag->value, value));
    }
    out.flags.insert_or_assign(std::string(flag->name), std::move(value));
  }
  if (out.operands.size() < least) {
    throw usage_error(command, out.operands.empty() ? "no operand is given" : "an operand is missing");
  }
  return out;
}

std::string help_text() {
  std::string text = "usage: pxl FILE [--OPTION VALUE ...]\n       pxl COMMAND ...\n       pxl -e CODE\n\ncommands:\n";
  std::vector<std::pair<std::string, std::string_view>> all;
  for (const Command* c : commands()) all.emplace_back(c->name, c->doc);
  text += rows(all) + "`pxl help COMMAND` describes one.\n\nflags:\n" + flag_rows(main_flags());
  return wrap_lines(text, help_width());
}

std::string help_text(const Command& command) {
  std::string text = fmt::format("usage: pxl {}\n\n{}\n", command.usage, command.doc);
  if (!command.flags.empty()) text += "\nflags:\n" + flag_rows(command.flags);
  if (!command.details.empty()) text += fmt::format("\n{}\n", joined_lines(command.details));
  return wrap_lines(text, help_width());
}

void check_overwrite(const Command& command, const Invocation& call, const std::string& path) {
  std::error_code failed;
  if (call.has(force_flag.name) || !std::filesystem::exists(std::filesystem::symlink_status(path, failed))) return;
  throw Error(fmt::format("{}: `{}` exists, and the command line does not name it", command.name, path),
              {"--force overwrites it; -o names another file"}, Fault::usage);
}

}  // namespace pxl::cli
