// `pxl help` and `pxl man`, generated from the table of commands.
#include <fmt/format.h>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/version.hpp"
#include "interpreter/tools/pager.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl::cli {

namespace {

int run_help(const CommonFlags&, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(help_command, arguments);
  if (call.operands.empty()) {
    write_paged(help_text());
    return exit_ok;
  }
  const std::string& wanted = call.operands.front();
  std::vector<std::string> names;
  for (const Command* c : commands()) {
    if (c->name == wanted) {
      write_paged(help_text(*c));
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

}  // namespace

const Command help_command{"help", "help [COMMAND]", "show help for pxl or for one command", run_help, {},
                           {},     "COMMAND"};
const Command man_command{"man", "man", "print the manual page: `pxl man | man -l -`", run_man, {}, {}, "-"};

}  // namespace pxl::cli
