// A job whose processes are threads of the test: a transport of queues.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/processes/processes.hpp"

namespace pxl {

class ThreadJob {
 public:
  explicit ThreadJob(int size) : size_(size), queues_(static_cast<size_t>(size * size)) {}

  /// Runs `body` as each process, with `before` before it joins the job and `after` at its end; the
  /// errors that they end with, by process.
  std::vector<std::exception_ptr> run(const std::function<void(Processes&)>& body, double timeout = 60,
                                      const std::function<void(int rank)>& before = {},
                                      const std::function<void(int rank)>& after = {}) {
    std::vector<std::exception_ptr> errors(static_cast<size_t>(size_));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank)
      threads.emplace_back([&, rank] {
        try {
          if (before) before(rank);
          Processes job(std::make_unique<Queues>(*this, rank), timeout);
          body(job);
        } catch (...) {
          errors[static_cast<size_t>(rank)] = std::current_exception();
        }
        if (after) after(rank);
      });
    for (std::thread& t : threads) t.join();
    return errors;
  }

 private:
  enum class Kind : uint8_t { data, mark, note };
  struct Message {
    Kind kind = Kind::data;
    std::string bytes = {};
  };

  class Queues : public Transport {
   public:
    Queues(ThreadJob& job, int rank) : job_(job), rank_(rank), notes_(static_cast<size_t>(job.size_)) {}
    int rank() const override { return rank_; }
    int size() const override { return job_.size_; }
    std::string host() const override { return "test"; }

    void start(std::span<const Outgoing> sends, std::span<const Incoming> receives) override {
      const std::lock_guard lock(job_.mutex_);
      for (const Outgoing& s : sends)
        job_.queue(rank_, s.to)
            .push_back({Kind::data, {reinterpret_cast<const char*>(s.data), static_cast<size_t>(s.bytes)}});
      pending_.assign(receives.begin(), receives.end());
    }
    State test() override {
      const std::lock_guard lock(job_.mutex_);
      if (ending_) return test_end();
      for (auto r = pending_.begin(); r != pending_.end();) {
        std::deque<Message>& queue = job_.queue(r->from, rank_);
        const bool waits_for_earlier =
            std::any_of(pending_.begin(), r, [&](const Incoming& e) { return e.from == r->from; });
        if (queue.empty() || waits_for_earlier) {
          ++r;
          continue;
        }
        if (queue.front().kind != Kind::data) return State::broken;
        if (static_cast<int64_t>(queue.front().bytes.size()) != r->bytes) std::terminate();  // sizes are known
        std::copy_n(queue.front().bytes.data(), r->bytes, reinterpret_cast<char*>(r->data));
        queue.pop_front();
        r = pending_.erase(r);
      }
      return pending_.empty() ? State::done : State::pending;
    }
    bool waits_for(int process) const override {
      return std::any_of(pending_.begin(), pending_.end(), [&](const Incoming& r) { return r.from == process; });
    }
    void break_off(const std::string& note) override {
      const std::lock_guard lock(job_.mutex_);
      pending_.clear();
      ending_ = true;
      told_.assign(static_cast<size_t>(job_.size_), false);
      told_[static_cast<size_t>(rank_)] = true;
      notes_[static_cast<size_t>(rank_)] = note;
      for (int p = 0; p < job_.size_; ++p) {
        if (p == rank_) continue;
        job_.queue(rank_, p).push_back({Kind::mark});
        job_.queue(rank_, p).push_back({Kind::note, note});
      }
    }
    const std::string& note_of(int process) const override { return notes_[static_cast<size_t>(process)]; }
    void finish() override {}
    void abort(int) override {}

   private:
    State test_end() {
      for (int p = 0; p < job_.size_; ++p) {
        std::deque<Message>& queue = job_.queue(p, rank_);
        while (!told_[static_cast<size_t>(p)] && !queue.empty()) {
          if (queue.front().kind == Kind::note) {
            notes_[static_cast<size_t>(p)] = queue.front().bytes;
            told_[static_cast<size_t>(p)] = true;
          }
          queue.pop_front();
        }
        if (!told_[static_cast<size_t>(p)]) return State::pending;
      }
      ending_ = false;
      return State::done;
    }

    ThreadJob& job_;
    int rank_;
    std::vector<Incoming> pending_;
    bool ending_ = false;
    std::vector<bool> told_;
    std::vector<std::string> notes_;
  };

  std::deque<Message>& queue(int from, int to) { return queues_[static_cast<size_t>(from * size_ + to)]; }

  int size_;
  std::mutex mutex_;
  std::vector<std::deque<Message>> queues_;
};

/// The message of an error that a process ended with; empty if it ended well.
inline std::string message_of(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace pxl
