// The processes of a job: the owner of each replica, messages with deadlines, and points of a script at which all
// processes must be the same. A process that was started alone is a job of one, which sends nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/processes/run_output.hpp"
#include "runtime/processes/transport.hpp"
#include "runtime/processes/watchdog.hpp"

namespace pxl {

/// Replicas of one process: consecutive numbers of `total`.
struct ReplicaRange {
  int first = 0, count = 1, total = 1;
  bool has(int replica) const { return replica >= first && replica < first + count; }
  bool all() const { return count == total; }
  static ReplicaRange whole(int total) { return {0, total, total}; }
};

/// The place in the program at which a process waits for messages.
struct Wait {
  std::string what;  ///< "in ReplicatedAllReduce"
  Span at = {};
  int replicas = 0;  ///< of the program that runs; 0 where none does
};

/// The note of a timeout error: it names the remedies.
extern const char* const timeout_note;

/// Two values of these are equal where processes are at one point in one state.
struct Fingerprint {
  uint64_t low = 0x243f6a8885a308d3, high = 0x13198a2e03707344;  // digits of pi
  /// Mixes in further data: the order counts. No defence against intent.
  Fingerprint& add(std::string_view bytes);
  Fingerprint& add(uint64_t value);
  bool operator==(const Fingerprint&) const = default;
};

/// The best of the instruction sets that all have; each lists its own in ascending order. Throws Error if they have
/// none in common.
std::string best_common_set(std::span<const std::vector<std::string>> lists);

class Processes {
 public:
  using Clock = std::chrono::steady_clock;

  /// This process alone.
  Processes() = default;
  /// All processes of the transport's job call this. `timeout`: seconds that one process may wait for another.
  /// `watchdog` limits the transport's calls that have no time limit.
  Processes(std::unique_ptr<Transport> transport, double timeout, std::unique_ptr<Watchdog> watchdog = nullptr);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool several() const { return size_ > 1; }
  const std::string& host(int process) const { return peers_[static_cast<size_t>(process)].host; }
  /// How many processes of this machine may use the cores of this one, itself included.
  int sharing_cores() const;

  /// The best instruction set of kernels that all processes have, and whether some have a better one.
  std::string common_instruction_set() const;
  bool processors_differ() const;

  /// The replicas of this process: a program of one replica runs in each alike. Throws Error unless the processes
  /// divide the replicas equally.
  ReplicaRange replicas(int total) const;
  /// The process of a replica; `total` as above, not 1.
  int owner(int replica, int total) const { return replica / (total / size_); }

  /// Sends and receives until all has arrived. All processes that take part name the same messages, in one order
  /// between any two; each ends with the same error if one of them throws, or breaks off. Throws Interrupted on
  /// request. Throws run_error if a process is gone or does not come in time: the job is then lost.
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives, const Wait& wait);
  /// The texts of all processes, by number.
  std::vector<std::string> all_gather(std::string_view mine, const Wait& wait);
  /// The text of process 0, where all of them meet to `what`.
  std::string from_first(std::string_view mine, std::string_view what);

  /// The text that this process prints in a run; the end of a run passes it to process 0, which prints it.
  RunOutput& output() { return output_; }
  /// Ends a run well: all processes come here. `sends` and `receives` are exchanged besides.
  void end_run(std::vector<Outgoing> sends, std::vector<Incoming> receives, int replicas);

  /// Aborts a run everywhere, because this process cannot go on: each process throws at its next exchange. `order` is
  /// small for errors that a single process would have met earlier. Returns the error that all throw: the one with the
  /// smallest `order`.
  Error break_off(const Error& error, int64_t order);
  /// The same for an interrupt.
  void break_off_interrupted();

  /// A point that all processes of the job have to pass together. Throws run_error that names this process's next
  /// action and that of the first process that differs. If a process has ended with an error, throws that error. `what`
  /// completes "the process is to ...". Every exchange outside a run begins with such a point. `replicas` is the
  /// program's number of replicas, if a program is run.
  void meet(std::string_view what, const Fingerprint& fingerprint = {}, int replicas = 0);
  /// The last point: the script of this process has ended, well or with an error. Returns if all processes have ended
  /// alike; throws the error with which a single process has ended.
  void meet_at_end(int status, const Error* error);

  /// Loses the job, and says so, if a process of this machine is gone, or if the launcher ends the job.
  void check_peers(const Wait& wait);
  /// How many runs have been broken off, by this process or by another.
  int64_t breaks() const { return breaks_; }
  /// Whether the job is lost: nothing more can be sent, and it is to be aborted.
  bool lost() const { return lost_; }
  /// Ends the job well. Of all processes.
  void finish();
  /// Ends all processes of the job.
  void abort(int status);

  /// Gives the place of the script where this process is.
  std::function<Span()> place;

 private:
  struct Peer {
    std::string host = {};
    int64_t pid = 0;
    std::string cores = {};                                    ///< "0-3"
    std::vector<std::string> instruction_sets = {"baseline"};  ///< of kernels, ascending
  };
  /// The message of a process that breaks off or does not meet the others.
  struct Note;

  void run_exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives, const Wait& wait);
  bool wait_until_done(const Wait& wait);
  [[noreturn]] void lose(const Wait& wait, std::string message, std::vector<std::string> notes);
  Note end_broken(Note mine);
  [[noreturn]] void part(const std::string& mine, std::span<const Fingerprint> states);
  std::string named(int process, int replicas) const;
  bool is_stopped(int process) const;

  std::unique_ptr<Transport> transport_;
  int rank_ = 0, size_ = 1;
  double timeout_ = 60;
  std::unique_ptr<Watchdog> watchdog_;
  std::vector<Peer> peers_ = {{}};  ///< by number; empty until each process has told what it is
  uint64_t meetings_ = 0;
  int64_t breaks_ = 0;
  std::optional<std::string> ended_;  ///< the error with which the script of this process has ended
  bool lost_ = false;
  bool parted_ = false;  ///< all know that they have gone apart, and end
  RunOutput output_;
  std::vector<std::byte> packed_;
};

/// The job of this process.
Processes& processes();
void set_processes(std::unique_ptr<Processes> job);

/// The data that a script's `fail` gives an error, as the JSON that another process reads; empty: none.
struct CarriedText : Carried {
  std::string json;
  explicit CarriedText(std::string k) : Carried(std::move(k)) {}
};

/// An error as text and back, with its place, notes and call chain. Places are found where this process has read a file
/// of the same name.
std::string encode_error(const Error& error);
Error decode_error(std::string_view text);

}  // namespace pxl
