#include "calls.hpp"

#include <pybind11/stl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace pxl_python {
namespace {

// What the handler below needs; written by the main thread only.
const pxl::Cancel* interrupted = nullptr;
struct sigaction python_action;

void on_interrupt(int number, siginfo_t* info, void* context) {
  if (interrupted) interrupted->request();
  if (python_action.sa_flags & SA_SIGINFO)
    python_action.sa_sigaction(number, info, context);
  else if (python_action.sa_handler != SIG_DFL && python_action.sa_handler != SIG_IGN)
    python_action.sa_handler(number);
}

bool in_main_thread() {
  static const py::object& threading = *new py::object(py::module_::import("threading"));
  return threading.attr("main_thread")().attr("ident").cast<unsigned long>() == PyThread_get_thread_ident();
}

// Exception types: references that live as long as the process, since exceptions may be raised while it ends.
struct Types {
  py::object error, cancelled, missing_name;
};
Types& types() {
  static Types& all = *new Types;
  return all;
}

}  // namespace

py::str decoded(std::string_view text, const char* others) {
  PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), others);
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

InterruptScope::InterruptScope(const pxl::Cancel& cancel) {
  if (!in_main_thread()) return;
  active_ = true;
  before_ = interrupted;
  interrupted = &cancel;
  if (before_) return;  // a call from a callback of another one
  struct sigaction now {};
  sigaction(SIGINT, nullptr, &python_action);
  // Python without a handler of its own: the system's default, or signals that are ignored, stay.
  if (!(python_action.sa_flags & SA_SIGINFO) &&
      (python_action.sa_handler == SIG_DFL || python_action.sa_handler == SIG_IGN))
    return;
  now.sa_sigaction = on_interrupt;
  // On the alternate stack that the library gives its threads: see docs/library.md.
  now.sa_flags = SA_SIGINFO | SA_ONSTACK | (python_action.sa_flags & SA_RESTART);
  sigemptyset(&now.sa_mask);
  sigaction(SIGINT, &now, nullptr);
  installed_ = true;
  // A signal that Python has heard since it last looked, which the call would never hear.
  if (PyErr_CheckSignals() == 0) return;
  end();
  throw py::error_already_set();
}

void InterruptScope::end() {
  if (installed_) sigaction(SIGINT, &python_action, nullptr);
  if (active_) interrupted = before_;
  installed_ = active_ = false;
}

InterruptScope::~InterruptScope() { end(); }

namespace {

/// The calls that run without the GIL.
struct Running {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const pxl::Cancel*> calls;
  bool ended = false;
};
Running* running = new Running;  // never destroyed: threads may be in it while the process ends

}  // namespace

CallScope::CallScope(const pxl::Cancel& cancel) : cancel_(cancel) {
  const std::lock_guard lock(running->mutex);
  if (running->ended) throw std::runtime_error("pxl cannot be called while Python ends");
  running->calls.push_back(&cancel_);
}

CallScope::~CallScope() {
  std::unique_lock lock(running->mutex);
  std::erase(running->calls, &cancel_);
  running->changed.notify_all();
  if (!running->ended) return;
  lock.unlock();
  // Python ends, and would end this thread as soon as it asks for the GIL, in the middle of frames of C++.
  for (;;) pause();
}

void end_calls() {
  const py::gil_scoped_release released;
  std::unique_lock lock(running->mutex);
  running->ended = true;
  for (const pxl::Cancel* call : running->calls) call->request();
  // A call that does not end in time is left alone, as without this function.
  running->changed.wait_for(lock, std::chrono::seconds(5), [] { return running->calls.empty(); });
}

void forget_calls() { running = new Running; }

void Printer::write(const char* stream, std::string_view text) {
  const py::gil_scoped_acquire held;
  try {
    const py::object to = py::module_::import("sys").attr(stream);
    if (!to.is_none()) to.attr("write")(decoded(text, "backslashreplace"));
  } catch (py::error_already_set& raised) {
    if (!raised_) raised_ = std::make_unique<py::error_already_set>(std::move(raised));
    cancel_.request();
  }
}

void Printer::check() {
  if (!raised_) return;
  cancel_.clear();
  const std::unique_ptr<py::error_already_set> raised = std::move(raised_);
  throw py::error_already_set(*raised);
}

void define_errors(py::module_& module) {
  // In Python, because classes of exceptions with members of their own are three lines there.
  const py::module_ errors = py::module_::import("pxl.errors");
  types() = {errors.attr("Error"), errors.attr("Cancelled"), errors.attr("MissingName")};
  module.attr("Error") = types().error;
}

void raise(const pxl::Error& error, bool of_name) {
  const auto readable = [](std::string_view text) { return decoded(text, "backslashreplace"); };
  py::list diagnostics;
  for (const pxl::Diagnostic& d : error.diagnostics) {
    py::dict one;
    one["kind"] = d.kind;
    one["message"] = readable(d.message);
    one["file"] = readable(d.place.file);
    one["line"] = d.place.line;
    one["column"] = d.place.column;
    py::list notes;
    for (const std::string& note : d.notes) notes.append(readable(note));
    one["notes"] = notes;
    one["text"] = readable(d.text);
    diagnostics.append(one);
  }
  const bool missing = of_name && error.first().kind == "key";
  const py::object& type = error.failure == pxl::Failure::cancelled ? types().cancelled
                           : missing                                ? types().missing_name
                                                                    : types().error;
  PyErr_SetObject(type.ptr(), type(readable(error.text()), diagnostics).ptr());
  throw py::error_already_set();
}

}  // namespace pxl_python
