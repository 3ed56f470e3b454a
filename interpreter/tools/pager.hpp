// Shows long texts on a terminal, through the user's pager.
#pragma once

#include <string_view>

namespace pxl {

/// Writes a text to standard output. The text goes through a pager if standard input and output are terminals and the
/// text has more lines than the terminal. The pager is the command in PAGER, by default `less` (with LESS=FRX if LESS
/// is not set); No pager is used if PAGER is empty or `cat`, if NO_PAGER is set, or if TERM is dumb. If the pager
/// cannot be started, the text is written without it. While the pager runs, Ctrl-C belongs to it.
void write_paged(std::string_view text);

}  // namespace pxl
