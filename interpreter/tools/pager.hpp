// Long texts on a terminal, through the user's pager.
#pragma once

#include <string_view>

namespace pxl {

/// Writes a text to standard output: through a pager if standard input and output are terminals and the text has more
/// lines than the terminal has rows. The pager is the command in PAGER, by default `less` (with LESS=FRX if LESS is not
/// set); none if PAGER is empty or `cat`, NO_PAGER is set, or TERM is dumb. A pager that cannot be started makes no
/// difference. Ctrl-C belongs to the pager while it runs.
void write_paged(std::string_view text);

}  // namespace pxl
