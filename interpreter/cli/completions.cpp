// `pxl completions`: completion scripts for three shells, generated from the table of commands.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/cli/command.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/help/explain.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/tiles/machine/machine.hpp"

namespace pxl::cli {

namespace {

std::string words_of(const Command& c) {
  if (c.operands == "COMMAND") {
    std::string out;
    for (const Command* other : commands()) out += (out.empty() ? "" : " ") + std::string(other->name);
    return out;
  }
  if (c.operands == "KIND") {
    std::string out;
    for (const std::string& code : explained_kinds()) out += (out.empty() ? "" : " ") + code;
    return out;
  }
  std::string out(c.operands);
  std::replace(out.begin(), out.end(), '|', ' ');
  return out;
}

/// Completion asks the command for the names that `pxl doc` knows.
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

/// The words that completion offers for a flag's value, separated by spaces; empty if the value is free.
std::string choices_of(const Flag& f) {
  if (f.value.find('|') != f.value.npos) return spaced(f.value);
  return f.words ? f.words() : std::string();
}

/// Commands that accept a script's options.
bool takes_options(const Command& c) {
  constexpr const Command* takers[] = {&run_command, &check_command, &profile_command, &schedule_command,
                                       &graph_command};
  return std::find(std::begin(takers), std::end(takers), &c) != std::end(takers);
}

/// Completion asks the command for a script's options. Each line has a name, a tab and a text.
constexpr std::string_view list_options = "pxl completions --options";

/// "case $prev in --engine) ... esac": completes the value of a flag and returns.
std::string bash_values(std::span<const Flag> flags) {
  std::string out;
  for (const Flag& f : flags) {
    if (f.value.empty()) continue;
    const std::string names = f.letter.empty() ? std::string(f.name) : fmt::format("{}|{}", f.letter, f.name);
    const std::string words = choices_of(f);
    const std::string values = !words.empty()      ? fmt::format("$(compgen -W '{}' -- \"$cur\")", words)
                               : f.value == "FILE" ? "$(compgen -f -- \"$cur\")"
                                                   : "";
    out += fmt::format("      case $prev in {}) COMPREPLY=({}); return ;; esac\n", names, values);
  }
  return out;
}

std::string bash() {
  std::string valued;
  for (const Flag& f : main_flags())
    if (f.name.starts_with("--") && !f.value.empty()) valued += (valued.empty() ? "" : "|") + std::string(f.name);
  std::string out = fmt::format(
      R"sh(# Completion of pxl for bash; `pxl completions bash` wrote it.
_pxl_programs() {{
  local IFS=$'\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY+=($(compgen -f -X '!*.pxl' -- "$1") $(compgen -d -- "$1"))
}}
_pxl_options() {{
  local word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == *.pxl ]] || continue
    COMPREPLY+=($(compgen -W "$({} "$word" 2> /dev/null | cut -f 1)" -- "$1"))
    return
  done
}}
_pxl() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      {}) ((i++)) ;;
      -*) ;;
      *) command=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  COMPREPLY=()
  case $command in
    '')
{}      COMPREPLY=($(compgen -W '{} {}' -- "$cur"))
      _pxl_programs "$cur" ;;
)sh",
      list_options, valued, bash_values(main_flags()), all_commands(), flag_words(main_flags()));
  for (const Command* c : commands()) {
    out += fmt::format("    {})\n{}", c->name, bash_values(c->flags));
    out += fmt::format("      COMPREPLY=($(compgen -W '{} --help{}' -- \"$cur\"))\n", flag_words(c->flags),
                       takes_names(*c)   ? fmt::format(" $({})", list_names)
                       : takes_files(*c) ? ""
                                         : " " + words_of(*c));
    if (takes_options(*c)) out += "      _pxl_options \"$cur\"\n";
    if (takes_files(*c)) out += "      _pxl_programs \"$cur\"\n";
    out += "      ;;\n";
  }
  return out + "    *) _pxl_options \"$cur\"; _pxl_programs \"$cur\" ;;\n  esac\n}\ncomplete -F _pxl pxl\n";
}

// Quotes a text for both shells; zsh also interprets brackets and colons.
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
  std::string out = fmt::format(
      R"sh(#compdef pxl
# Completion of pxl for zsh; `pxl completions zsh` wrote it.
_pxl_options() {{
  local word line
  local -a found
  for word in ${{words[2,CURRENT-1]}}; do
    [[ $word == *.pxl ]] || continue
    for line in ${{(f)"$({} $word 2> /dev/null)"}}; do
      found+=("${{line%%$'\t'*}}:${{${{line#*$'\t'}}//:/\\:}}")
    done
    _describe -o option found
    return
  done
}}
_pxl() {{
  local -a commands
  commands=(
)sh",
      list_options);
  for (const Command* c : commands()) out += fmt::format("    '{}:{}'\n", c->name, single(c->doc, ":"));
  out += "  )\n  if (( CURRENT == 2 )); then\n    _describe -t commands command commands\n    _files -g '*.pxl'\n";
  out += fmt::format("    compadd -- {}\n    return\n  fi\n  case $words[2] in\n", flag_words(main_flags()));
  for (const Command* c : commands()) {
    out += fmt::format("    {})\n", c->name);
    if (takes_options(*c)) out += "      _pxl_options\n";
    out += "      _arguments -S";
    for (const Flag& f : c->flags) {
      std::string value;
      if (const std::string words = choices_of(f); !words.empty())
        value = fmt::format(":value:({})", words);
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
  return out +
         "    *) _pxl_options; _files ;;\n  esac\n}\n"
         "[[ $funcstack[1] == _pxl ]] && _pxl \"$@\" || compdef _pxl pxl\n";
}

std::string fish() {
  std::string runners;
  for (const Command* c : commands())
    if (takes_options(*c)) runners += " " + std::string(c->name);
  std::string out = fmt::format(
      R"sh(# Completion of pxl for fish; `pxl completions fish` wrote it.
function __pxl_script
  set -l words (commandline -opc)
  contains -- "$words[2]"{} || string match -q -- '*.pxl' "$words[2]" || return 1
  for word in $words[2..-1]
    if string match -q -- '*.pxl' $word
      echo $word
      return 0
    end
  end
  return 1
end
complete -c pxl -n '__pxl_script > /dev/null' -a '({} (__pxl_script) 2> /dev/null)'
)sh",
      runners, list_options);
  for (const Flag& f : main_flags()) {
    if (!f.name.starts_with("--")) continue;
    const std::string words = choices_of(f);
    out += fmt::format("complete -c pxl -n __fish_use_subcommand -l {}{} -d '{}'\n", f.name.substr(2),
                       words.empty() ? "" : fmt::format(" -x -a '{}'", words), single(f.doc));
  }
  for (const Command* c : commands()) {
    out += fmt::format("complete -c pxl -n __fish_use_subcommand -a {} -d '{}'\n", c->name, single(c->doc));
    const std::string seen = fmt::format("complete -c pxl -n '__fish_seen_subcommand_from {}'", c->name);
    for (const Flag& f : c->flags) {
      out += fmt::format("{} -l {}", seen, f.name.substr(2));
      if (!f.letter.empty()) out += fmt::format(" -s {}", f.letter.substr(1));
      if (const std::string words = choices_of(f); !words.empty())
        out += fmt::format(" -x -a '{}'", words);
      else if (!f.value.empty())
        out += f.value == "FILE" ? " -r" : " -x";
      out += fmt::format(" -d '{}'\n", single(f.doc));
    }
    if (takes_names(*c)) out += fmt::format("{} -a '({})'\n", seen, list_names);
    if (!takes_files(*c)) out += fmt::format("{} -f -a '{}'\n", seen, words_of(*c));
  }
  return out;
}

// A script's options as flags, each with its text on one line.
std::string option_lines(const std::string& path) {
  std::string out;
  for (const OptionInfo& o : scan_options(*parse_or_throw(read_source(path)))) {
    std::string doc = o.doc.empty() ? o.type : o.doc;
    std::replace(doc.begin(), doc.end(), '\n', ' ');
    out += fmt::format("--{}\t{}\n", o.name, doc);
    if (o.type == "bool") out += fmt::format("--no-{}\t{}: false\n", o.name, o.name);
  }
  return out + "--help\tlist the options\n";
}

int run_completions(const CommonFlags&, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(completions_command, arguments);
  if (call.has("--options")) {
    write_out(option_lines(call.value("--options")));
    return exit_ok;
  }
  const std::string shell = call.operands.empty() ? std::string() : call.operands.front();
  if (shell == "bash") {
    write_out(bash());
  } else if (shell == "zsh") {
    write_out(zsh());
  } else if (shell == "fish") {
    write_out(fish());
  } else {
    throw Error(
        shell.empty() ? "completions: a shell is required" : fmt::format("completions: unknown shell `{}`", shell),
        {"expected bash, zsh or fish"}, Fault::usage);
  }
  return exit_ok;
}

constexpr Flag completions_flags[] = {
    {"--options", "FILE", "list the options of a script instead: what the completion scripts ask for"},
};

}  // namespace

std::string engine_words() {
  std::string words;
  for (const EngineRow& row : engine_table()) words += (words.empty() ? "" : " ") + std::string(row.name);
  return words;
}

std::string machine_words() {
  std::string words;
  for (const tiles::Machine& m : tiles::machine_table()) words += (words.empty() ? "" : " ") + std::string(m.name);
  return words;
}

const Command completions_command{
    "completions",
    "completions bash|zsh|fish",
    "print the completion script for a shell",
    run_completions,
    completions_flags,
    "bash: `eval \"$(pxl completions bash)\"`, or the text in ~/.local/share/bash-completion/completions/pxl.\n"
    "zsh: the text as _pxl in a folder of $fpath, before compinit.\n"
    "fish: `pxl completions fish > ~/.config/fish/completions/pxl.fish`.",
    "bash|zsh|fish"};

}  // namespace pxl::cli
