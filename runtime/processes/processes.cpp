// Messages between the processes of a job, and the error if one of them does not come.
#include "runtime/processes/processes.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/kernels/instruction_sets.hpp"
#include "runtime/processes/json_text.hpp"
#include "runtime/processes/liveness.hpp"

namespace pxl {

namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr int64_t small_message = 16 << 10;  // bytes: smaller ones to one process are joined
constexpr int spins = 200;                   // tests before the core is given to others
constexpr auto eager_wait = 20ms;            // before a waiting process sleeps between tests
constexpr auto nap = 100us;
constexpr auto between_checks = 100ms;  // of the processes that are waited for
std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

const char* const timeout_note = "`--timeout SECONDS` says how long processes wait for each other";

struct Processes::Note {
  enum class Kind : uint8_t { follows, failed, interrupted };
  Kind kind = Kind::follows;
  int64_t order = 0;
  std::string error = {};
  std::string output = {};

  std::string text() const {
    return json_text({{"kind", static_cast<int>(kind)}, {"order", order}, {"error", error}, {"output", output}});
  }
  static Note read(const std::string& text) {
    const json j = json::parse(text);
    return {static_cast<Kind>(j.at("kind").get<int>()), j.at("order"), j.at("error"), j.at("output")};
  }
};

Processes::Processes(std::unique_ptr<Transport> transport, double timeout, std::unique_ptr<Watchdog> watchdog)
    : transport_(std::move(transport)),
      rank_(transport_->rank()),
      size_(transport_->size()),
      timeout_(timeout),
      watchdog_(std::move(watchdog)),
      peers_() {
  const std::string mine = json_text({{"host", transport_->host()},
                                      {"pid", static_cast<int64_t>(::getpid())},
                                      {"cores", allowed_cores()},
                                      {"instruction sets", usable_instruction_sets()}});
  std::vector<Peer> peers;
  for (const std::string& text : all_gather(mine, {"at the start of the job"})) {
    const json j = json::parse(text);
    peers.push_back({j.at("host"), j.at("pid"), j.at("cores"), j.at("instruction sets")});
  }
  peers_ = std::move(peers);
}

int Processes::sharing_cores() const {
  const Peer& own = peers_[static_cast<size_t>(rank_)];
  const auto shares = [&](const Peer& p) { return p.host == own.host && p.cores == own.cores; };
  return static_cast<int>(std::count_if(peers_.begin(), peers_.end(), shares));
}

std::string best_common_set(std::span<const std::vector<std::string>> lists) {
  std::string best;
  for (const std::string& set : lists[0]) {
    const auto has = [&](const auto& list) { return std::find(list.begin(), list.end(), set) != list.end(); };
    if (std::all_of(lists.begin(), lists.end(), has)) best = set;
  }
  if (best.empty())
    throw Error("the processes of the job have kernels for different instruction sets, and none in common",
                {"a build with -DPXL_INSTRUCTION_SETS=all runs on every processor"}, Fault::usage);
  return best;
}

std::string Processes::common_instruction_set() const {
  std::vector<std::vector<std::string>> lists;
  for (const Peer& p : peers_) lists.push_back(p.instruction_sets);
  return best_common_set(lists);
}

bool Processes::processors_differ() const {
  const std::string common = common_instruction_set();
  return std::any_of(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.instruction_sets.back() != common; });
}

ReplicaRange Processes::replicas(int total) const {
  if (size_ == 1 || total == 1) return ReplicaRange::whole(total);
  if (total % size_ != 0)
    throw Error(fmt::format("the program has {} replicas, which {} processes cannot divide equally", total, size_),
                {fmt::format("start as many processes as divide {}", total)})
        .as(codes::replicas);
  const int each = total / size_;
  return {rank_ * each, each, total};
}

std::string Processes::named(int process, int replicas) const {
  std::string who = fmt::format("process {}", process);
  if (replicas > 1) {
    const int each = replicas / size_, first = process * each;
    who = each == 1 ? fmt::format("replica {}", first) : fmt::format("replicas {} to {}", first, first + each - 1);
  }
  if (peers_.empty()) return who;
  return fmt::format("{} (host {}, process {})", who, host(process), peers_[static_cast<size_t>(process)].pid);
}

void Processes::exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives, const Wait& wait) {
  if (!several()) return;
  // Small messages to one process are joined: both sides know the sizes, and join alike.
  const auto is_small = [](const auto& m) { return m.bytes <= small_message; };
  std::vector<std::vector<Outgoing>> to(static_cast<size_t>(size_));
  std::vector<std::vector<Incoming>> from(static_cast<size_t>(size_));
  int64_t joined = 0;
  for (const Outgoing& m : sends) {
    to[static_cast<size_t>(m.to)].push_back(m);
    joined += is_small(m) ? m.bytes : 0;
  }
  for (const Incoming& m : receives) {
    from[static_cast<size_t>(m.from)].push_back(m);
    joined += is_small(m) ? m.bytes : 0;
  }
  packed_.resize(std::max(packed_.size(), static_cast<size_t>(joined)));
  std::byte* next = packed_.data();
  std::vector<Outgoing> all_sends;
  std::vector<Incoming> all_receives;
  struct Unpack {
    std::byte* from;
    Incoming to;
  };
  std::vector<Unpack> unpack;
  for (int p = 0; p < size_; ++p) {
    Outgoing small_out{p, next, 0};
    for (const Outgoing& m : to[static_cast<size_t>(p)]) {
      if (!is_small(m)) {
        all_sends.push_back(m);
        continue;
      }
      std::copy_n(m.data, m.bytes, next);
      next += m.bytes;
      small_out.bytes += m.bytes;
    }
    Incoming small_in{p, next, 0};
    for (const Incoming& m : from[static_cast<size_t>(p)]) {
      if (!is_small(m)) {
        all_receives.push_back(m);
        continue;
      }
      unpack.push_back({next, m});
      next += m.bytes;
      small_in.bytes += m.bytes;
    }
    if (std::any_of(to[static_cast<size_t>(p)].begin(), to[static_cast<size_t>(p)].end(), is_small))
      all_sends.push_back(small_out);
    if (std::any_of(from[static_cast<size_t>(p)].begin(), from[static_cast<size_t>(p)].end(), is_small))
      all_receives.push_back(small_in);
  }
  run_exchange(all_sends, all_receives, wait);
  for (const Unpack& u : unpack) std::copy_n(u.from, u.to.bytes, u.to.data);
}

void Processes::run_exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives, const Wait& wait) {
  if (lost_) throw run_error("the job is lost").as(codes::replicas);
  transport_->start(sends, receives);
  bool done = false;
  try {
    done = wait_until_done(wait);
  } catch (const Interrupted&) {
    end_broken({Note::Kind::interrupted});
    throw;
  }
  if (done) return;
  const Note first = end_broken({});
  if (first.kind == Note::Kind::interrupted) throw Interrupted();
  throw decode_error(first.error);
}

/// Whether all has arrived; otherwise another process has broken off.
bool Processes::wait_until_done(const Wait& wait) {
  Transport::State state = transport_->test();
  const auto start = Clock::now();
  auto checked = start;
  for (int tests = 0; state == Transport::State::pending; state = transport_->test()) {
    if (++tests < spins) continue;
    if (termination_requested()) check_peers(wait);
    metering::poll();
    const auto now = Clock::now();
    if (now - start > eager_wait)
      std::this_thread::sleep_for(nap);
    else
      ::sched_yield();
    if (now - checked > between_checks) {
      checked = now;
      check_peers(wait);
    }
    const double waited = std::chrono::duration<double>(now - start).count();
    if (waited < timeout_ + reporting_delay(rank_)) continue;
    // Those that run may wait for a stopped one themselves.
    std::vector<std::string> late, stopped, notes;
    for (int p = 0; p < size_; ++p) {
      if (p == rank_ || !transport_->waits_for(p)) continue;
      late.push_back(named(p, wait.replicas));
      if (is_stopped(p)) stopped.push_back(late.back() + ", which is stopped");
    }
    if (!stopped.empty()) late = std::move(stopped);
    notes.emplace_back(timeout_note);
    lose(wait, fmt::format("waited {} s for {}", timeout_, join_texts(late, ", ")), std::move(notes));
  }
  return state == Transport::State::done;
}

bool Processes::is_stopped(int process) const {
  if (peers_.empty()) return false;
  const Peer& peer = peers_[static_cast<size_t>(process)];
  return peer.host == host(rank_) && process_state(peer.pid) == ProcessState::stopped;
}

void Processes::check_peers(const Wait& wait) {
  int alive_before = 0;
  std::vector<std::string> gone;
  for (size_t p = 0; p < peers_.size(); ++p) {
    const auto number = static_cast<int>(p);
    if (number == rank_ || peers_[p].host != host(rank_)) continue;
    if (process_state(peers_[p].pid) == ProcessState::gone)
      gone.push_back(named(number, wait.replicas));
    else if (number < rank_)
      ++alive_before;
  }
  if (gone.empty() && !termination_requested()) return;
  // One process among those that saw the loss prints the error, and ends the others.
  if (!gone.empty()) std::this_thread::sleep_for(std::chrono::duration<double>(reporting_delay(alive_before)));
  if (gone.empty() || silenced()) {
    lost_ = true;
    throw Interrupted();
  }
  lose(wait, fmt::format("{} {} gone", join_texts(gone, ", "), gone.size() == 1 ? "is" : "are"), {});
}

void Processes::lose(const Wait& wait, std::string message, std::vector<std::string> notes) {
  lost_ = true;
  for (const Peer& peer : peers_)
    if (peer.host == host(rank_) && peer.pid != ::getpid()) silence(peer.pid);
  const Span at = wait.at ? wait.at : place ? place() : Span{};
  Error error = run_error(fmt::format("{}, {}", message, wait.what), std::move(notes));
  error.as(codes::replicas).locate(at, nullptr);
  throw error;
}

std::vector<std::string> Processes::all_gather(std::string_view mine, const Wait& wait) {
  if (!several()) return {std::string(mine)};
  std::vector<uint64_t> sizes(static_cast<size_t>(size_));
  const uint64_t size = mine.size();
  std::vector<std::string> all(static_cast<size_t>(size_));
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  const auto others = [&](const auto& body) {
    sends.clear();
    receives.clear();
    for (int p = 0; p < size_; ++p)
      if (p != rank_) body(p);
    exchange(sends, receives, wait);
  };
  others([&](int p) {
    sends.push_back({p, reinterpret_cast<const std::byte*>(&size), sizeof size});
    receives.push_back({p, reinterpret_cast<std::byte*>(&sizes[static_cast<size_t>(p)]), sizeof size});
  });
  others([&](int p) {
    std::string& text = all[static_cast<size_t>(p)];
    text.resize(sizes[static_cast<size_t>(p)]);
    sends.push_back({p, bytes_of(mine).data(), static_cast<int64_t>(mine.size())});
    receives.push_back({p, reinterpret_cast<std::byte*>(text.data()), static_cast<int64_t>(text.size())});
  });
  all[static_cast<size_t>(rank_)] = mine;
  return all;
}

/// Breaks off, and returns the note that counts: an interrupt, or the earliest error.
Processes::Note Processes::end_broken(Note mine) {
  ++breaks_;
  mine.output = output_.end();
  transport_->break_off(mine.text());
  const auto start = Clock::now();
  while (transport_->test() != Transport::State::done) {
    std::this_thread::sleep_for(nap);
    if (std::chrono::duration<double>(Clock::now() - start).count() < timeout_ + reporting_delay(rank_)) continue;
    lost_ = true;
    if (mine.kind == Note::Kind::failed) return mine;
    lose({"at the end of a run"}, "the other processes do not end it", {});
  }
  std::optional<Note> first;
  std::vector<std::string> printed;
  for (int p = 0; p < size_; ++p) {
    Note note = Note::read(transport_->note_of(p));
    printed.push_back(std::move(note.output));
    if (note.kind == Note::Kind::follows) continue;
    const auto rank = [](const Note& n) { return n.kind == Note::Kind::interrupted ? -1 : n.order; };
    if (!first || rank(note) < rank(*first)) first = std::move(note);
  }
  if (rank_ == 0) RunOutput::print(printed);
  return first ? *first : Note{Note::Kind::interrupted};
}

void Processes::end_run(std::vector<Outgoing> sends, std::vector<Incoming> receives, int replicas) {
  std::vector<std::string> printed(static_cast<size_t>(size_));
  std::vector<uint64_t> sizes(static_cast<size_t>(size_));
  std::string& mine = printed[static_cast<size_t>(rank_)];
  mine = output_.text();  // which a run that another process breaks off now gives too
  const uint64_t size = mine.size();
  for (int p = 0; p < size_; ++p) {
    if (p == rank_) continue;
    sends.push_back({p, reinterpret_cast<const std::byte*>(&size), sizeof size});
    receives.push_back({p, reinterpret_cast<std::byte*>(&sizes[static_cast<size_t>(p)]), sizeof size});
  }
  const Wait wait{"at the end of a run", {}, replicas};
  exchange(sends, receives, wait);
  output_.end();
  sends.clear();
  receives.clear();
  if (rank_ != 0 && size > 0) sends.push_back({0, bytes_of(mine).data(), static_cast<int64_t>(size)});
  for (int p = 1; rank_ == 0 && p < size_; ++p) {
    std::string& text = printed[static_cast<size_t>(p)];
    text.resize(sizes[static_cast<size_t>(p)]);
    if (!text.empty())
      receives.push_back({p, reinterpret_cast<std::byte*>(text.data()), static_cast<int64_t>(text.size())});
  }
  if (!sends.empty() || !receives.empty()) exchange(sends, receives, wait);
  if (rank_ == 0) RunOutput::print(printed);
}

Error Processes::break_off(const Error& error, int64_t order) {
  const std::string text = encode_error(error);
  const Note first = end_broken({Note::Kind::failed, order, text});
  if (first.kind == Note::Kind::interrupted) throw Interrupted();
  return first.error == text ? error : decode_error(first.error);
}

void Processes::break_off_interrupted() { end_broken({Note::Kind::interrupted}); }

void Processes::finish() {
  if (!transport_) return;
  if (!watchdog_) return transport_->finish();
  const auto late = [this] {
    return run_error(fmt::format("waited {} s for the other processes, at the end of the job", timeout_),
                     {timeout_note})
        .as(codes::replicas);
  };
  watchdog_->during(timeout_ + reporting_delay(rank_), late, [this] { transport_->finish(); });
}
void Processes::abort(int status) {
  if (transport_) transport_->abort(status);
}

namespace {
std::unique_ptr<Processes>& job() {
  static auto* own = new std::unique_ptr<Processes>(std::make_unique<Processes>());  // no destructor may end a job
  return *own;
}
}  // namespace

Processes& processes() { return *job(); }
void set_processes(std::unique_ptr<Processes> own) { job() = std::move(own); }

}  // namespace pxl
