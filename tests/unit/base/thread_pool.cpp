// The thread pool: every chunk once, jobs in order, idle threads asleep and awake again.
#include "runtime/base/threads/thread_pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/base/threads/cores.hpp"
#include "runtime/base/threads/parallel_copy.hpp"

using namespace pxl;

TEST_CASE("every chunk of every job runs exactly once before run returns") {
  // Pools have one group of threads, one group and a single thread more, or many more threads than cores.
  for (int threads : {1, 2, 3, 5, 9, 10, 18, 64}) {
    ThreadPool pool(threads);
    CHECK(pool.size() == threads);
    std::vector<std::atomic<int>> runs(static_cast<size_t>(threads));
    for (int job = 1; job <= (threads > 5 ? 300 : 3000); ++job) {
      for (auto& r : runs) r = 0;
      std::atomic<int> count{0};
      pool.run([&](int chunk, int chunks) {
        runs[static_cast<size_t>(chunk)].fetch_add(1);
        count = chunks;
      });
      // One chunk while the pool works serially.
      REQUIRE((count == threads || count == 1));
      bool once = true;
      for (int c = 0; c < threads; ++c) once = once && runs[static_cast<size_t>(c)] == (c < count ? 1 : 0);
      REQUIRE(once);
    }
  }
}

TEST_CASE("threads that went to sleep come back") {
  for (const int threads : {2, 9, 40}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 5; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::atomic<int> sum{0}, count{0};
      pool.run([&](int chunk, int chunks) {
        sum += chunk + 1;
        count = chunks;
      });
      CHECK(sum == (count == 1 ? 1 : threads * (threads + 1) / 2));
    }
  }
}

TEST_CASE("shares cover the units without gaps, at multiples of the grain") {
  for (int64_t iterations : {0, 1, 63, 64, 65, 1000})
    for (int shares : {1, 2, 3, 7}) {
      int64_t at = 0;
      for (int s = 0; s < shares; ++s) {
        const ChunkRange share = chunk_range(iterations, s, shares, 64);
        CHECK(share.begin == at);
        CHECK((share.begin % 64 == 0 || share.begin == iterations));
        at = share.end;
      }
      CHECK(at == iterations);
    }
}

TEST_CASE("threads of the team treat subnormal numbers as their caller does") {
  ThreadPool pool(3);
  const auto half_of_smallest = [&] {
    std::vector<float> results(3, 1.0f);
    pool.run([&](int chunk, int chunks) {
      volatile float smallest = std::numeric_limits<float>::min();
      for (int i = chunk; i < 3; i += chunks) results[static_cast<size_t>(i)] = smallest * 0.5f;
    });
    return results;
  };
  const std::vector<float> kept(3, std::numeric_limits<float>::min() / 2), flushed(3, 0.0f);
  CHECK(half_of_smallest() == kept);
  {
    const FlushSubnormals flush;
    CHECK(half_of_smallest() == flushed);
  }
  CHECK(half_of_smallest() == kept);
}

TEST_CASE("a thread that waits does its idle work until nothing is left") {
  static std::atomic<int> pieces;
  pieces = 0;
  ThreadPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> taken{false};
  // The caller may run every chunk for a while on a busy machine.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!taken && std::chrono::steady_clock::now() < end)
    pool.run([&](int, int) {
      if (std::this_thread::get_id() == caller || taken) return;
      idle_hook = [] { return ++pieces < 5; };
      taken = true;
    });
  while (pieces < 5 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  CHECK(pieces == 5);
}

TEST_CASE("chunks that wait for something else than a core are divided on: waiting together saves time") {
  // Sleeping stands for pages and files that are fetched.
  if (!std::ifstream("/proc/thread-self/schedstat")) return;
  ThreadPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  int by_others = 0;
  constexpr int jobs = 40;
  for (int job = 0; job < jobs; ++job) {
    bool other = false;
    pool.run([&](int share, int) {
      std::this_thread::sleep_for(std::chrono::milliseconds(share == 0 ? 10 : 11));
      other = other || std::this_thread::get_id() != caller;
    });
    by_others += other;
  }
  CHECK(by_others > jobs / 2);
}

TEST_CASE("a pool's gain is measured in each long job, and in one of 16 short ones") {
  JobSampling sampling;
  constexpr int jobs = 16'000;
  int measured = 0, stood_for = 0;
  for (int job = 0; job < jobs; ++job) {
    CHECK(sampling.next(JobSampling::long_job_ns) == 1);
    CHECK(sampling.next(0) == 1);  // unknown
    const int weight = sampling.next(1);
    measured += weight > 0;
    stood_for += weight;
  }
  CHECK(measured > jobs / 20);
  CHECK(measured < jobs / 12);
  CHECK(stood_for > jobs * 9 / 10);
  CHECK(stood_for < jobs * 11 / 10);
}

TEST_CASE("threads are bound to the cores that are given, the caller to none") {
  const std::vector<int> cores = core_numbers();
  REQUIRE(!cores.empty());
  const int threads = static_cast<int>(cores.size()) + 1;  // the last one has no core of its own
  std::vector<std::vector<int>> seen(static_cast<size_t>(threads));
  ThreadPool pool(threads, cores);
  std::atomic<int> here{0}, count{0};
  // Threads wait for each other, so that the caller steals no chunk; on a busy machine the pool may work serially.
  while (count != threads) {
    here = 0;
    pool.run([&](int chunk, int chunks) {
      count = chunks;
      seen[static_cast<size_t>(chunk)] = core_numbers();
      ++here;
      while (here < chunks) std::this_thread::yield();
    });
  }
  CHECK(seen.front() == cores);
  CHECK(seen.back() == cores);
  for (size_t t = 1; t < cores.size(); ++t) CHECK(seen[t] == std::vector<int>{cores[t]});
}

TEST_CASE("large copies are complete, whatever the size and the alignment") {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, min_parallel_copy_bytes - 1, min_parallel_copy_bytes,
                              min_parallel_copy_bytes * 3 + 4097}) {
    std::vector<std::byte> from(static_cast<size_t>(bytes) + 3), to(from.size(), std::byte{255});
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 % 251);
    parallel_copy(to.data() + 1, from.data() + 2, bytes);
    CHECK(to.front() == std::byte{255});
    CHECK(std::equal(to.begin() + 1, to.begin() + 1 + bytes, from.begin() + 2));
    CHECK(to.back() == std::byte{255});
  }
}
