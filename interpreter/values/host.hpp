// The environment of a session: the receivers of its output, its start options, and random numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/kernels/random/draws.hpp"

namespace pxl {

class Interpreter;

struct InterpreterOptions {
  std::function<void(std::string_view)> out;  ///< receives what `print` writes
  std::function<void(std::string_view)> err;  ///< receives progress and notices
  /// Receives an SVG that `plot` drew, with its title. If empty, charts are written as text.
  std::function<void(const std::string& svg, const std::string& title)> picture;
  /// Receives the warnings of a look, each as often as it is found. If empty, a look has none.
  std::function<void(Diagnostic warning)> warn;
  bool quiet = false;
  bool terminal = false;                       ///< err is a terminal: progress bars may redraw
  std::map<std::string, std::string> options;  ///< values of the script's `option`s, from the command line
  std::string program_name;                    ///< name for messages on options
};

class Host {
 public:
  /// `random` is the initial state of the random numbers. Output without a receiver is dropped.
  Host(InterpreterOptions options, Random random) : options_(std::move(options)), random_(random) {
    if (!options_.out) options_.out = [](std::string_view) {};
    if (!options_.err) options_.err = [](std::string_view) {};
  }
  const InterpreterOptions& options() const { return options_; }
  void write(std::string_view text) {
    if (muted_ == 0) options_.out(text);
  }
  void notice(std::string_view text) { draw(cleaned(text)); }
  /// Prints a notice that moves the cursor, as a progress bar does.
  void draw(std::string_view text) {
    if (!options_.quiet && muted_ == 0) options_.err(text);
  }
  /// Drops output, from the first of nested calls with true to the last one with false.
  void mute(bool on) { muted_ += on ? 1 : -1; }
  Random& random() { return random_; }
  /// Whether a kind of notices has not been printed before.
  bool is_first(unsigned kind) {
    const uint64_t bit = uint64_t{1} << kind;
    const bool first = (noticed_ & bit) == 0;
    noticed_ |= bit;
    return first;
  }

 private:
  InterpreterOptions options_;
  Random random_;
  int muted_ = 0;
  uint64_t noticed_ = 0;  ///< a bit for each kind of notices
};

Host& host_of(Interpreter& in);

}  // namespace pxl
