// Whether other processes of this machine are alive, and whether this process was told to end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pxl {

enum class ProcessState : uint8_t { running, stopped, gone };

/// The state of a process on this machine, read from /proc/PID/stat. A process that has ended and was not waited for is
/// `gone`.
ProcessState process_state(int64_t pid);

/// The stopped processes that have this process's parent: if the parent is a launcher, they belong to its job on this
/// machine.
std::vector<int64_t> stopped_siblings();

/// Seconds that the process with this number waits before it prints a message that other processes of its job may print
/// too.
constexpr double reporting_delay(int number) { return 0.3 * number; }

/// The cores that this process may use, as Linux lists them: "0-3,8".
std::string allowed_cores();

/// After this call SIGTERM, with which a launcher ends a job, interrupts the work and does not end the process. The
/// process then has time to say what happened.
void handle_termination();
/// Whether SIGTERM came.
bool termination_requested();
/// Ends the work of another process on this machine in silence: this process prints the messages.
void silence(int64_t pid);
/// Whether another process did that.
bool silenced();

}  // namespace pxl
