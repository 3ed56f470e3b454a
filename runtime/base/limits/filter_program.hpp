// Programs of the system that turn one text into another: dot, rsvg-convert.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pxl {

struct FilterOutcome {
  int status = 0;  ///< the exit status; 127 where there is no such program, -1 where a signal ended it
  std::string output;
};
/// Runs `words[0]` of $PATH with the other words as arguments; gives it `input` on standard input and collects its
/// standard output. No file is involved. Throws run_error if no process can be made, and Interrupted, after ending the
/// program.
FilterOutcome run_filter(const std::vector<std::string>& words, std::string_view input);

}  // namespace pxl
