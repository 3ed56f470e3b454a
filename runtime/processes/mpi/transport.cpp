// The plug-in for MPI: point-to-point messages without blocking, so that no wait is without end. MPI's own collectives
// are not used, since their order of sums is not ours. Any library with the interface of MPI 3 will do.
#include "runtime/processes/transport.hpp"

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace pxl {

namespace {

constexpr int data_tag = 1;
constexpr int mark_tag = 2;  ///< of the empty message of a process that breaks off
constexpr int note_tag = 3;  ///< of its note, which follows
/// MPI counts elements in int: longer messages go in parts.
constexpr int64_t max_message = int64_t{1} << 30;

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    MPI_Comm_dup(MPI_COMM_WORLD, &world_);
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    notes_.resize(static_cast<size_t>(size_));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host() const override {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(name, &length);
    return {name, static_cast<size_t>(length)};
  }

  void start(std::span<const Outgoing> sends, std::span<const Incoming> receives) override {
    requests_.clear();
    peers_.clear();
    for (const Incoming& r : receives)
      for (int64_t at = 0; at == 0 || at < r.bytes; at += max_message)
        MPI_Irecv(r.data + at, part(r.bytes, at), MPI_BYTE, r.from, MPI_ANY_TAG, world_, request(r.from));
    receives_ = requests_.size();
    for (const Outgoing& s : sends)
      for (int64_t at = 0; at == 0 || at < s.bytes; at += max_message)
        MPI_Isend(s.data + at, part(s.bytes, at), MPI_BYTE, s.to, data_tag, world_, request(s.to));
    statuses_.resize(requests_.size());
    done_.resize(requests_.size());
  }

  State test() override { return ending_ ? test_end() : test_exchange(); }

  bool waits_for(int process) const override {
    if (ending_) return stage_[static_cast<size_t>(process)] != Stage::told;
    for (size_t i = 0; i < requests_.size(); ++i)
      if (peers_[i] == process && requests_[i] != MPI_REQUEST_NULL) return true;
    return false;
  }

  void break_off(const std::string& note) override {
    if (!ending_) {
      stage_.assign(static_cast<size_t>(size_), Stage::sends);
      stage_[static_cast<size_t>(rank_)] = Stage::told;
    }
    for (size_t i = 0; i < receives_; ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&requests_[i]);
      MPI_Status status;
      MPI_Wait(&requests_[i], &status);
      int cancelled = 0;
      MPI_Test_cancelled(&status, &cancelled);
      if (!cancelled) note_mark(status);
    }
    for (size_t p = 0; p < marked_.size(); ++p)
      if (stage_[static_cast<size_t>(marked_[p])] == Stage::sends)
        stage_[static_cast<size_t>(marked_[p])] = Stage::marked;
    marked_.clear();
    note_ = note;
    ending_ = true;
    for (int p = 0; p < size_; ++p) {
      notes_[static_cast<size_t>(p)] = p == rank_ ? note : std::string();
      if (p == rank_) continue;
      MPI_Isend(nullptr, 0, MPI_BYTE, p, mark_tag, world_, request(p));
      MPI_Isend(note_.data(), static_cast<int>(note_.size()), MPI_BYTE, p, note_tag, world_, request(p));
    }
    statuses_.resize(requests_.size());
    done_.resize(requests_.size());
  }

  const std::string& note_of(int process) const override { return notes_[static_cast<size_t>(process)]; }

  void finish() override {
    MPI_Comm_free(&world_);
    MPI_Finalize();
  }
  void abort(int status) override { MPI_Abort(MPI_COMM_WORLD, status); }

 private:
  /// The state of a process that breaks off: its earlier messages are dropped, then its mark arrives, then its note.
  enum class Stage : uint8_t { sends, marked, told };

  static int part(int64_t bytes, int64_t at) { return static_cast<int>(std::min(bytes - at, max_message)); }
  MPI_Request* request(int peer) {
    requests_.push_back(MPI_REQUEST_NULL);
    peers_.push_back(peer);
    return &requests_.back();
  }
  void note_mark(const MPI_Status& status) {
    if (status.MPI_TAG == mark_tag) marked_.push_back(status.MPI_SOURCE);
  }

  State test_exchange() {
    int count = 0;
    MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, done_.data(), statuses_.data());
    if (count == MPI_UNDEFINED) return State::done;
    for (int i = 0; i < count; ++i)
      if (static_cast<size_t>(done_[static_cast<size_t>(i)]) < receives_) note_mark(statuses_[static_cast<size_t>(i)]);
    if (!marked_.empty()) return State::broken;
    return std::all_of(requests_.begin(), requests_.end(), [](MPI_Request r) { return r == MPI_REQUEST_NULL; })
               ? State::done
               : State::pending;
  }

  State test_end() {
    for (int p = 0; p < size_; ++p) take_from(p);
    int count = 0;
    MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, done_.data(), statuses_.data());
    const bool sent =
        std::all_of(requests_.begin(), requests_.end(), [](MPI_Request r) { return r == MPI_REQUEST_NULL; });
    const bool told = std::all_of(stage_.begin(), stage_.end(), [](Stage s) { return s == Stage::told; });
    if (!sent || !told) return State::pending;
    ending_ = false;
    requests_.clear();
    peers_.clear();
    receives_ = 0;
    return State::done;
  }

  /// Receives the messages of a process that breaks off.
  void take_from(int p) {
    Stage& stage = stage_[static_cast<size_t>(p)];
    while (stage != Stage::told) {
      int there = 0;
      MPI_Message message;
      MPI_Status status;
      MPI_Improbe(p, MPI_ANY_TAG, world_, &there, &message, &status);
      if (!there) return;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      std::string taken(static_cast<size_t>(bytes), '\0');
      MPI_Mrecv(taken.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
      if (status.MPI_TAG == mark_tag) stage = Stage::marked;
      if (status.MPI_TAG == note_tag) {
        stage = Stage::told;
        notes_[static_cast<size_t>(p)] = std::move(taken);
      }
    }
  }

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;  ///< receives, then sends
  std::vector<int> peers_;             ///< of the requests
  size_t receives_ = 0;
  std::vector<MPI_Status> statuses_;
  std::vector<int> done_, marked_;
  bool ending_ = false;
  std::vector<Stage> stage_;
  std::string note_;
  std::vector<std::string> notes_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) Transport* pxl_open_transport(std::string* why) {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    *why = "MPI_Init failed";
    return nullptr;
  }
  return new MpiTransport();
}

}  // namespace pxl
