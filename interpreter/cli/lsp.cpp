// `pxl lsp`: runs the language server on standard input and output.
#include "interpreter/lsp/server.hpp"

#include <unistd.h>

#include "interpreter/cli/command.hpp"
#include "interpreter/values/ref.hpp"

namespace pxl::cli {

namespace {

constexpr Flag lsp_flags[] = {{"--stdio", "", "use standard input and output (the default)"}};

int run_lsp(const CommonFlags&, const std::vector<std::string>& arguments);

}  // namespace

const Command lsp_command{
    "lsp",
    "lsp",
    "run the language server on standard input and output",
    run_lsp,
    lsp_flags,
    "Editors start this command by themselves. Diagnostics as one types, hover, definition, references, "
    "symbols, renaming, completion, signatures, formatting, inferred shapes, colours."};

namespace {

int run_lsp(const CommonFlags&, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(lsp_command, arguments);
  if (!call.operands.empty()) throw Error("lsp: unexpected file: the editor sends the texts", {}, Fault::usage);
  counts_are_shared = true;
  return lsp::Server(STDIN_FILENO, STDOUT_FILENO).run();
}

}  // namespace

}  // namespace pxl::cli
