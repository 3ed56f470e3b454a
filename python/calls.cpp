#include "calls.hpp"

#include <fcntl.h>
#include <pybind11/stl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "values.hpp"

namespace pxl_python {

/// How signals are heard during a call: Python's handler of the system writes their numbers to a pipe, from which a
/// thread takes them. The thread passes them on to whom Python wrote before, such as a loop of events.
struct Hearing {
  std::atomic<bool> asked = false;
  std::atomic<int> written_before = -1;
  bool is_in_call = false;  ///< of the main thread, which alone changes it
  int ends[2] = {-1, -1};

  Hearing() {
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    // Signals are for the other threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { listen(); }).detach();
    } catch (const std::system_error&) {
      close(std::exchange(ends[1], -1));  // signals are heard after the call
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void begin(const pxl::Cancel& cancel) {
    is_in_call = true;
    const std::lock_guard lock(mutex_);
    call_ = cancel;
  }
  void end() {
    is_in_call = false;
    const std::lock_guard lock(mutex_);
    call_.reset();
  }

 private:
  void listen() {
    unsigned char number = 0;
    for (ssize_t got = 0; (got = read(ends[0], &number, 1)) == 1 || (got < 0 && errno == EINTR);) {
      if (got < 0) continue;
      asked = true;
      if (const int other = written_before; other >= 0) (void)!write(other, &number, 1);
      const std::lock_guard lock(mutex_);
      if (number == SIGINT && call_) call_->request();
    }
  }

  std::mutex mutex_;
  std::optional<pxl::Cancel> call_;
};

namespace {

/// Never destroyed, as its thread goes on while the process ends; another one in the child of a fork.
Hearing* hearing = nullptr;

/// Sets the pipe to which Python's handler writes the numbers of signals; returns the previous one. -1: none.
int write_signals_to(int fd) {
  static const py::object& set = *new py::object(py::module_::import("signal").attr("set_wakeup_fd"));
  try {
    return set(fd).cast<int>();
  } catch (py::error_already_set&) {  // the other descriptor was closed meanwhile
    return set(-1).cast<int>();
  }
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

SignalScope::SignalScope(const pxl::Cancel& cancel) : cancel_(cancel) {
  if (!in_main_thread()) return;
  if (!hearing) hearing = new Hearing;
  // A call from a callback of another one has the other's; or nobody listens.
  if (hearing->is_in_call || hearing->ends[1] < 0) return;
  hearing_ = hearing;
  hearing_->begin(cancel);
  hearing_->written_before = written_before_ = write_signals_to(hearing_->ends[1]);
  attention_.emplace(hearing_->asked, [this] { return run_handlers(); });
  // A signal that Python has heard since it last looked, which the call would never hear.
  if (!run_handlers()) {
    end();
    check();
  }
}

void SignalScope::end() {
  if (!hearing_) return;
  write_signals_to(written_before_);
  hearing_->end();
  hearing_ = nullptr;
}

SignalScope::~SignalScope() { end(); }

bool SignalScope::run_handlers() {
  const py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() == 0) return true;
  raised_ = std::make_unique<py::error_already_set>();
  return false;
}

void SignalScope::check() {
  if (!raised_) return;
  cancel_.clear();
  const std::unique_ptr<py::error_already_set> raised = std::move(raised_);
  throw py::error_already_set(*raised);
}

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
  // Python ends, and would end this thread inside frames of C++ as soon as the thread asks for the GIL.
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

void forget_calls() {
  running = new Running;
  hearing = nullptr;
}

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
  // Python code defines the errors: exception classes with their own members are three lines there.
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
    one["data"] = d.data ? object_of(*d.data) : py::none();
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
