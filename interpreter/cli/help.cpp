// `pxl help`, `pxl man` and `pxl completions`, generated from the table of commands.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/version.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/standard_streams.hpp"
#include "runtime/base/suggest.hpp"

namespace pxl::cli {

namespace {

int run_help(const CommonFlags&, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(help_command, arguments);
  if (call.operands.empty()) {
    write_out(help_text());
    return exit_ok;
  }
  const std::string& wanted = call.operands.front();
  std::vector<std::string> names;
  for (const Command* c : commands()) {
    if (c->name == wanted) {
      write_out(help_text(*c));
      return exit_ok;
    }
    names.emplace_back(c->name);
  }
  const std::string hint = did_you_mean(wanted, names);
  throw Error(fmt::format("help: unknown command `{}`{}", wanted, hint.empty() ? "" : "; " + hint), {}, Fault::usage);
}

// ---- the manual, in man(7)'s macros

std::string roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '`') {
      out += "\\(ga";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

void roff_flags(std::string& out, std::span<const Flag> flags) {
  for (const Flag& f : flags) {
    out += ".TP\n";
    if (!f.letter.empty()) out += fmt::format("\\fB{}\\fR, ", roff(f.letter));
    out += fmt::format("\\fB{}\\fR", roff(f.name));
    if (!f.value.empty()) out += fmt::format(" \\fI{}\\fR", roff(f.value));
    out += fmt::format("\n{}\n", roff(f.doc));
  }
}

int run_man(const CommonFlags&, const std::vector<std::string>& arguments) {
  parse_flags(man_command, arguments);
  std::string out = fmt::format(
      ".TH PXL 1 {} \"pxl {}\" \"User Commands\"\n.SH NAME\npxl \\- a language for explicit tensor graphs\n"
      ".SH SYNOPSIS\n.B pxl\n\\fIFILE\\fR [\\fB\\-\\-\\fIOPTION VALUE\\fR ...]\n.br\n.B pxl\n\\fICOMMAND\\fR ...\n.br\n"
      ".B pxl\n\\fB\\-e\\fR \\fICODE\\fR\n.SH DESCRIPTION\n"
      "Runs scripts that compute host values at once and build graphs of tensor ops, which sessions run.\n"
      ".SH FLAGS\n",
      release_date(), version());
  roff_flags(out, main_flags());
  out += ".SH COMMANDS\n";
  for (const Command* c : commands()) {
    out += fmt::format(".SS {}\n.B pxl {}\n.PP\n{}.\n", roff(c->name), roff(c->usage), roff(c->doc));
    if (!c->details.empty()) out += fmt::format(".PP\n{}\n", roff(c->details));
    roff_flags(out, c->flags);
  }
  out += ".SH EXIT STATUS\n";
  for (const ExitRow& row : exit_rows()) out += fmt::format(".TP\n{}\n{}\n", row.status, roff(row.doc));
  out += ".SH ENVIRONMENT\n";
  for (const auto& [name, doc] : environment_rows()) out += fmt::format(".TP\n.B {}\n{}\n", name, roff(doc));
  write_out(out);
  return exit_ok;
}

// ---- completion

std::string words_of(const Command& c) {
  if (c.operands == "COMMAND") {
    std::string out;
    for (const Command* other : commands()) out += (out.empty() ? "" : " ") + std::string(other->name);
    return out;
  }
  if (c.operands == "KIND") {
    std::string out;
    for (std::string_view code : codes::all) out += (out.empty() ? "" : " ") + std::string(code);
    return out;
  }
  std::string out(c.operands);
  std::replace(out.begin(), out.end(), '|', ' ');
  return out;
}

/// The names that `pxl doc` knows are asked of the command when they are completed.
constexpr std::string_view list_names = "pxl doc --names 2> /dev/null";
bool takes_names(const Command& c) { return c.operands == "NAME"; }

bool takes_files(const Command& c) { return c.operands.empty() || takes_names(c); }

std::string all_commands() {
  std::string out;
  for (const Command* c : commands()) out += (out.empty() ? "" : " ") + std::string(c->name);
  return out;
}

std::string flag_words(std::span<const Flag> flags) {
  std::string out;
  for (const Flag& f : flags)
    if (f.name != "-") out += (out.empty() ? "" : " ") + std::string(f.name);
  return out;
}

std::string spaced(std::string_view choices) {
  std::string out(choices);
  std::replace(out.begin(), out.end(), '|', ' ');
  return out;
}

std::string bash() {
  std::string out = fmt::format(
      R"(# Completion of pxl for bash; `pxl completions bash` wrote it.
_pxl_programs() {{
  local IFS=$'\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY+=($(compgen -f -X '!*.pxl' -- "$1") $(compgen -d -- "$1"))
}}
_pxl() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -* ]] || {{ command=${{COMP_WORDS[i]}}; break; }}
  done
  COMPREPLY=()
  case $command in
    '')
      COMPREPLY=($(compgen -W '{} {}' -- "$cur"))
      _pxl_programs "$cur" ;;
)",
      all_commands(), flag_words(main_flags()));
  for (const Command* c : commands()) {
    out += fmt::format("    {})\n", c->name);
    for (const Flag& f : c->flags) {
      if (f.value.empty()) continue;
      const std::string names = f.letter.empty() ? std::string(f.name) : fmt::format("{}|{}", f.letter, f.name);
      const std::string values = f.value.find('|') == f.value.npos
                                     ? (f.value == "FILE" ? "$(compgen -f -- \"$cur\")" : "")
                                     : fmt::format("$(compgen -W '{}' -- \"$cur\")", spaced(f.value));
      out += fmt::format("      case $prev in {}) COMPREPLY=({}); return ;; esac\n", names, values);
    }
    out += fmt::format("      COMPREPLY=($(compgen -W '{} --help{}' -- \"$cur\"))\n", flag_words(c->flags),
                       takes_names(*c)   ? fmt::format(" $({})", list_names)
                       : takes_files(*c) ? ""
                                         : " " + words_of(*c));
    if (takes_files(*c)) out += "      _pxl_programs \"$cur\"\n";
    out += "      ;;\n";
  }
  return out + "    *) _pxl_programs \"$cur\" ;;\n  esac\n}\ncomplete -F _pxl pxl\n";
}

// Quoted for both shells; zsh also interprets brackets and colons.
std::string single(std::string_view text, std::string_view special = "") {
  std::string out;
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}

std::string zsh() {
  std::string out =
      "#compdef pxl\n# Completion of pxl for zsh; `pxl completions zsh` wrote it.\n_pxl() {\n  local -a commands\n  "
      "commands=(\n";
  for (const Command* c : commands()) out += fmt::format("    '{}:{}'\n", c->name, single(c->doc, ":"));
  out += "  )\n  if (( CURRENT == 2 )); then\n    _describe -t commands command commands\n    _files -g '*.pxl'\n";
  out += fmt::format("    compadd -- {}\n    return\n  fi\n  case $words[2] in\n", flag_words(main_flags()));
  for (const Command* c : commands()) {
    out += fmt::format("    {})\n      _arguments -S", c->name);
    for (const Flag& f : c->flags) {
      std::string value;
      if (f.value.find('|') != f.value.npos)
        value = fmt::format(":value:({})", spaced(f.value));
      else if (!f.value.empty())
        value = fmt::format(":{}:{}", single(f.value, ":"), f.value == "FILE" ? "_files" : "");
      out += fmt::format(" \\\n        '{}[{}]{}'", f.name, single(f.doc, "[]:"), value);
    }
    if (takes_names(*c))
      out += fmt::format(" \\\n        '*:name:($({}) *.pxl(N))'\n", list_names);
    else
      out += takes_files(*c) ? " \\\n        '*:program:_files -g \"*.pxl\"'\n"
                             : fmt::format(" \\\n        '*:word:({})'\n", words_of(*c));
    out += "      ;;\n";
  }
  return out + "    *) _files ;;\n  esac\n}\n[[ $funcstack[1] == _pxl ]] && _pxl \"$@\" || compdef _pxl pxl\n";
}

std::string fish() {
  std::string out = "# Completion of pxl for fish; `pxl completions fish` wrote it.\n";
  for (const Flag& f : main_flags())
    if (f.name.starts_with("--"))
      out += fmt::format("complete -c pxl -n __fish_use_subcommand -l {} -d '{}'\n", f.name.substr(2), single(f.doc));
  for (const Command* c : commands()) {
    out += fmt::format("complete -c pxl -n __fish_use_subcommand -a {} -d '{}'\n", c->name, single(c->doc));
    const std::string seen = fmt::format("complete -c pxl -n '__fish_seen_subcommand_from {}'", c->name);
    for (const Flag& f : c->flags) {
      out += fmt::format("{} -l {}", seen, f.name.substr(2));
      if (!f.letter.empty()) out += fmt::format(" -s {}", f.letter.substr(1));
      if (f.value.find('|') != f.value.npos)
        out += fmt::format(" -x -a '{}'", spaced(f.value));
      else if (!f.value.empty())
        out += f.value == "FILE" ? " -r" : " -x";
      out += fmt::format(" -d '{}'\n", single(f.doc));
    }
    if (takes_names(*c)) out += fmt::format("{} -a '({})'\n", seen, list_names);
    if (!takes_files(*c)) out += fmt::format("{} -f -a '{}'\n", seen, words_of(*c));
  }
  return out;
}

int run_completions(const CommonFlags&, const std::vector<std::string>& arguments) {
  const std::string shell = parse_flags(completions_command, arguments, 1).operands.front();
  if (shell == "bash") {
    write_out(bash());
  } else if (shell == "zsh") {
    write_out(zsh());
  } else if (shell == "fish") {
    write_out(fish());
  } else {
    throw Error(fmt::format("completions: unknown shell `{}`", shell), {"expected bash, zsh or fish"}, Fault::usage);
  }
  return exit_ok;
}

}  // namespace

const Command help_command{"help", "help [COMMAND]", "show help for pxl or for one command", run_help, {},
                           {},     "COMMAND"};
const Command man_command{"man", "man", "print the manual page: `pxl man | man -l -`", run_man, {}, {}, "-"};
const Command completions_command{
    "completions",
    "completions bash|zsh|fish",
    "print the completion script for a shell",
    run_completions,
    {},
    "bash: `eval \"$(pxl completions bash)\"`, or the text in ~/.local/share/bash-completion/completions/pxl.\n"
    "zsh: the text as _pxl in a folder of $fpath, before compinit.\n"
    "fish: `pxl completions fish > ~/.config/fish/completions/pxl.fish`.",
    "bash|zsh|fish"};

}  // namespace pxl::cli
