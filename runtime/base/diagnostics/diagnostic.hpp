// Diagnostics: the errors that every layer throws, and the one place that turns them into text.
#pragma once

#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/diagnostics/source.hpp"

namespace pxl {

/// One step of the chain "in Linear.build, inlined as fc2 in Net.build at mnist.pxl:31:11".
/// `what` is the text after "in "; `at` is the call's place. Shared by all ops made inside the call.
struct Frame {
  std::string what;
  Span at;
  std::shared_ptr<const Frame> outer;
};
using FramePtr = std::shared_ptr<const Frame>;

enum class Severity : uint8_t { error, warning };

/// The party at fault decides the exit status: a refused text 65, a failure while running 1, an unreadable file 66,
/// wrong command-line usage 2, a bug in pxl 70.
enum class Fault : uint8_t { refused, failed, unreadable, usage, internal };

/// A second place of a diagnostic: "`w` is declared here".
struct Related {
  Span at;
  std::string text;
};

/// A change of a text: `text` takes the place of what is at `at`.
struct Edit {
  Span at;
  std::string text;
};
/// The repair of a diagnostic, as edits of one file: `pxl check --fix` and editors make them.
struct Fix {
  std::string title;  ///< "Change to `relu`"
  std::vector<Edit> edits;
};

/// The kind and data that a script's `fail` adds to an error. The interpreter adds the script's data.
struct Carried {
  std::string kind;  ///< a kind of the script's own; empty: `fail`
  explicit Carried(std::string k) : kind(std::move(k)) {}
  Carried(const Carried&) = delete;
  Carried& operator=(const Carried&) = delete;
  virtual ~Carried() = default;
};

struct Diagnostic {
  Severity severity = Severity::error;
  Fault fault = Fault::refused;
  std::string message;             ///< one line, lower-case start, no final period
  Span span;                       ///< null where there is no text to point at
  std::vector<std::string> notes;  ///< further lines, shown indented: facts, then the way out
  FramePtr frames;                 ///< innermost call first
  std::string_view code{};         ///< one of codes.hpp, or a text in `carried`; empty: code_of() says which
  std::vector<Related> related{};
  std::vector<Fix> fixes{};  ///< the best one first
  std::shared_ptr<const Carried> carried{};

  /// Offers a fix of one edit. Without a title it is "Change to `TEXT`".
  void offer(Span at, std::string text, std::string title = {});
};

/// The kind of a diagnostic, one of codes.hpp: its own, or that of its fault.
std::string_view code_of(const Diagnostic& d);
/// Whether the kind is one of the world (codes.hpp). A kind of a script's own is.
bool is_of_world(const Diagnostic& d);

/// The exception of the whole project. Layers below the interpreter throw it without a span; the interpreter fills in
/// span and frames if they are missing. Several diagnostics may travel together. Its special members are not inline:
/// code throws it at a thousand places.
class Error : public std::exception {
 public:
  explicit Error(Diagnostic d);
  explicit Error(std::vector<Diagnostic> ds);
  explicit Error(std::string message);
  Error(std::string message, std::vector<std::string> notes, Fault fault = Fault::refused);
  Error(std::string message, std::initializer_list<std::string_view> notes, Fault fault = Fault::refused);
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error() override;

  const char* what() const noexcept override { return first().message.c_str(); }
  const Diagnostic& first() const { return diagnostics_.front(); }
  Diagnostic& first() { return diagnostics_.front(); }
  const std::vector<Diagnostic>& all() const { return diagnostics_; }

  /// Says which kind of error the first diagnostic is, one of codes.hpp, if nothing has said so before. The innermost
  /// place that knows the kind decides; a caller that passes an error on sets the only kind possible there.
  Error& as(std::string_view code) &;
  Error&& as(std::string_view code) &&;

  /// Offers a fix, as Diagnostic::offer does; an edit without a place is left out.
  Error& offer(Span at, std::string text, std::string title = {}) &;
  Error&& offer(Span at, std::string text, std::string title = {}) &&;
  /// Adds a second place, unless it is null.
  Error& relate(Span at, std::string text) &;
  Error&& relate(Span at, std::string text) &&;

  /// Gives the first diagnostic a place and a call chain if it has none yet.
  void locate(Span span, const FramePtr& frames);

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// Runs `f`; an error without a kind gets this kind.
template <class F>
auto coded(std::string_view code, F&& f) {
  try {
    return f();
  } catch (Error& e) {
    e.as(code);
    throw;
  }
}

/// A failure while running (exit status 1), as opposed to a text that is refused (65).
Error run_error(std::string message, std::vector<std::string> notes = {});

/// Renders in the form of the language's section on errors: "file:line:col: error: message [kind]", the line with a
/// caret, then the notes and the call chain. Ends with a newline. `colour` adds ANSI escapes.
std::string render(const Diagnostic& d, bool colour = false);

}  // namespace pxl
