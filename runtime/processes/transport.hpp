// Moves bytes between the processes of a job: the interface of plug-ins. A plug-in includes this header alone, and
// throws nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pxl {

struct Outgoing {
  int to = 0;  ///< a process
  const std::byte* data = nullptr;
  int64_t bytes = 0;
};
struct Incoming {
  int from = 0;
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

/// All calls come from one thread. Messages between two processes are received in the order in which they were sent,
/// and both sides know their sizes.
class Transport {
 public:
  enum class State : uint8_t {
    pending,
    done,
    broken,  ///< a process has broken off: nothing is to be done but to break off too
  };

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The name of the machine on which this process runs.
  virtual std::string host() const = 0;

  /// Starts an exchange; the one before has ended. The bytes keep their addresses until it ends.
  virtual void start(std::span<const Outgoing> sends, std::span<const Incoming> receives) = 0;
  /// Moves it on, without waiting.
  virtual State test() = 0;
  /// Whether the exchange, or the break-off, waits for a process.
  virtual bool waits_for(int process) const = 0;

  /// Ends the exchange, if there is one, for all processes: each has to call this. Tells them `note`, drops what they
  /// send until they have broken off too, and takes their notes. `test` moves it on; when it is done, the next exchange
  /// may start.
  virtual void break_off(const std::string& note) = 0;
  /// The note with which a process broke off last.
  virtual const std::string& note_of(int process) const = 0;

  /// Ends the job well: the last call, of all processes.
  virtual void finish() = 0;
  /// Ends all processes of the job, which then has this exit status, as far as the launcher can. Returns only if it
  /// cannot do so.
  virtual void abort(int status) = 0;
};

/// A plug-in is a shared module that defines this. Returns null, with the reason in `why`, if there is no job to join.
using OpenTransport = Transport* (*)(std::string* why);
inline constexpr const char* open_transport_name = "pxl_open_transport";

}  // namespace pxl
