// `pxl repl`, and `pxl` on a terminal: start the REPL.
#include "interpreter/repl/repl.hpp"

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/version.hpp"

namespace pxl::cli {
namespace {

int start_repl(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(repl_command, arguments);
  ReplOptions options;
  options.init = !call.has("--no-init");
  options.quiet = common.quiet;
  options.files = call.operands;
  options.version = version();
  return Repl(options).run();
}

constexpr Flag repl_flags[] = {
    {"--no-init", "", "skip the start-up file"},
};

}  // namespace

const Command repl_command{"repl",
                           "repl [--no-init] [FILE ...]",
                           "start the REPL; the same as `pxl` on a terminal and `pxl -i`",
                           start_repl,
                           repl_flags,
                           "Each FILE is run first, in the same session. The start-up file is "
                           "$XDG_CONFIG_HOME/pxl/init.pxl (~/.config/pxl/init.pxl), the history is "
                           "$XDG_STATE_HOME/pxl/history (~/.local/state/pxl/history).\n`:help` lists the commands."};

}  // namespace pxl::cli
