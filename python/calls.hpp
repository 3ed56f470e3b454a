// Calls of the library from Python: without the GIL, interruptible, with errors as exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <pxl/pxl.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace pxl_python {

namespace py = pybind11;

/// A text of the library, which is UTF-8 unless a file has another name. `others` tells how Python decodes other bytes:
/// "backslashreplace" for texts to read, "surrogateescape" where it takes them back.
py::str decoded(std::string_view text, const char* others);

struct Hearing;

/// While it lives, Python's handlers of signals run in the middle of the call; an exception of a handler ends the call.
/// Ctrl-C requests `cancel` besides. Has an effect in the main thread only, because Python handles signals there.
class SignalScope {
 public:
  /// Throws the exception of Python's handler for a signal that came but was not handled yet.
  explicit SignalScope(const pxl::Cancel& cancel);
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  /// Throws the exception that a handler has raised. With the GIL.
  void check();

 private:
  bool run_handlers();
  void end();

  pxl::Cancel cancel_;
  Hearing* hearing_ = nullptr;  ///< of the outermost call in the main thread
  int written_before_ = -1;
  std::unique_ptr<py::error_already_set> raised_;
  std::optional<pxl::AttentionScope> attention_;
};

/// A call that runs without the GIL. When Python ends, such calls in daemon threads are cancelled, and their threads
/// stop. The library's code must not run any more when the process destroys its static objects.
class CallScope {
 public:
  /// Throws if Python has ended.
  explicit CallScope(const pxl::Cancel& cancel);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  pxl::Cancel cancel_;
};
/// Called when Python ends: cancels the running calls, and waits until they have ended.
void end_calls();
/// Called in the child of a fork, which has none of its parent's threads.
void forget_calls();

/// Writes to sys.stdout or sys.stderr, from a thread without the GIL. An exception of a write ends the call, which then
/// raises it.
class Printer {
 public:
  explicit Printer(pxl::Cancel cancel) : cancel_(std::move(cancel)) {}
  void write(const char* stream, std::string_view text);
  /// Throws the exception that a write raised since the last call. With the GIL.
  void check();

 private:
  pxl::Cancel cancel_;
  std::unique_ptr<py::error_already_set> raised_;
};

/// Declares pxl.Error and its subclasses in the module.
void define_errors(py::module_& module);
/// Throws the exception for an error.
[[noreturn]] void raise(const pxl::Error& error, bool of_name = false);

/// Runs `body`, which returns a Result, without the GIL, and throws its error as an exception. `printer` may be null.
template <class F>
auto call(const pxl::Cancel& cancel, Printer* printer, F&& body, bool of_name = false) {
  auto result = [&] {
    SignalScope signals(cancel);
    auto given = [&] {
      const py::gil_scoped_release released;
      const CallScope running(cancel);
      return body();
    }();
    signals.check();
    return given;
  }();
  if (printer) printer->check();
  // Ctrl-C: Python's own handler has seen it too, and raises KeyboardInterrupt or whatever the program has set.
  if (PyErr_CheckSignals() != 0) {
    cancel.clear();
    throw py::error_already_set();
  }
  if (!result) raise(result.error(), of_name);
  return std::move(result).value();
}

/// The same for a Result<void>.
template <class F>
void call_void(const pxl::Cancel& cancel, F&& body) {
  call(cancel, nullptr, [&]() -> pxl::Result<bool> {
    const pxl::Result<void> done = body();
    if (!done) return done.error();
    return true;
  });
}

}  // namespace pxl_python
