// Jobs of several processes: messages, meetings, and how all end together. The processes are threads here.
#include "runtime/processes/processes.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/source.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "tests/unit/support/thread_job.hpp"

using namespace pxl;

namespace {

std::vector<std::string> messages(const std::vector<std::exception_ptr>& errors) {
  std::vector<std::string> all;
  for (const auto& e : errors) all.push_back(message_of(e));
  return all;
}

}  // namespace

TEST_CASE("a process alone has all replicas, and meets nobody") {
  Processes alone;
  CHECK(alone.size() == 1);
  CHECK(alone.replicas(6).count == 6);
  alone.meet("do something");
  CHECK(alone.from_first("x", "read it") == "x");
  CHECK(alone.all_gather("x", {"test"}) == std::vector<std::string>{"x"});
}

TEST_CASE("the instruction set of a job is the best that all of its processes have") {
  using Lists = std::vector<std::vector<std::string>>;
  CHECK(best_common_set(Lists{{"baseline", "avx2", "avx512"}, {"baseline", "avx2", "avx512"}}) == "avx512");
  CHECK(best_common_set(Lists{{"baseline", "avx2", "avx512"}, {"baseline", "avx2"}}) == "avx2");
  // One was built for its own processor only.
  CHECK(best_common_set(Lists{{"baseline", "avx512"}, {"baseline", "avx2", "avx512"}}) == "avx512");
  CHECK(best_common_set(Lists{{"baseline", "avx512"}, {"baseline", "avx2"}}) == "baseline");
  CHECK_THROWS_WITH_AS(best_common_set(Lists{{"avx512"}, {"avx2"}}),
                       "the processes of the job have kernels for different instruction sets, and none in common",
                       Error);
}

TEST_CASE("replicas are divided into equal ranges, or refused") {
  const auto errors = ThreadJob(3).run([](Processes& job) {
    const ReplicaRange range = job.replicas(6);
    CHECK(range.first == 2 * job.rank());
    CHECK(range.count == 2);
    for (int r = 0; r < 6; ++r) CHECK((job.owner(r, 6) == job.rank()) == range.has(r));
    CHECK(job.replicas(1).all());
    job.replicas(4);
  });
  CHECK(messages(errors) ==
        std::vector<std::string>(3, "the program has 4 replicas, which 3 processes cannot divide equally"));
}

TEST_CASE("messages of all sizes arrive in order, joined or not") {
  constexpr int n = 3;
  std::mt19937 rng(3);
  std::vector<size_t> sizes;
  for (int i = 0; i < 40; ++i) sizes.push_back(rng() % (i % 4 == 0 ? 60000 : 900));
  const auto pattern = [&](int from, int to, size_t which) {
    std::string text(sizes[which], '\0');
    for (size_t i = 0; i < text.size(); ++i)
      text[i] = static_cast<char>(i * 7 + which * 31 + static_cast<size_t>(from * 5 + to));
    return text;
  };
  const auto errors = ThreadJob(n).run([&](Processes& job) {
    std::vector<std::string> out, in;
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
    out.reserve(n * sizes.size());
    in.reserve(n * sizes.size());
    for (size_t k = 0; k < sizes.size(); ++k)
      for (int p = 0; p < n; ++p) {
        if (p == job.rank()) continue;
        out.push_back(pattern(job.rank(), p, k));
        sends.push_back({p, reinterpret_cast<const std::byte*>(out.back().data()), static_cast<int64_t>(sizes[k])});
        in.emplace_back(sizes[k], '?');
        receives.push_back({p, reinterpret_cast<std::byte*>(in.back().data()), static_cast<int64_t>(sizes[k])});
      }
    job.exchange(sends, receives, {"in a test"});
    for (size_t i = 0; i < receives.size(); ++i) CHECK(in[i] == pattern(receives[i].from, job.rank(), i / (n - 1)));
  });
  CHECK(messages(errors) == std::vector<std::string>(n));
}

TEST_CASE("processes that come to different points are told both") {
  const SourceFile& file = add_source("apart.pxl", "first\nsecond\n");
  const auto errors = ThreadJob(3).run([&](Processes& job) {
    job.meet("begin");
    job.place = [&] { return Span{&file, job.rank() == 2 ? 6u : 0u, 7u}; };
    if (job.rank() == 2)
      job.meet_at_end(0, nullptr);
    else
      job.meet("start run 3 of program p");
  });
  for (const auto& e : errors) {
    REQUIRE(e);
    try {
      std::rethrow_exception(e);
    } catch (const Error& error) {
      CHECK(error.first().message == "the processes of the job have gone apart");
      REQUIRE(error.first().notes.size() == 3);
      CHECK(error.first().notes[0] == "process 0 (host test) is to start run 3 of program p at apart.pxl:1:1");
      CHECK(error.first().notes[1] == "process 2 (host test) is to end with status 0 at apart.pxl:2:1");
    }
  }
}

TEST_CASE("the process that has gone apart is named, wherever the others are") {
  const SourceFile& file = add_source("lines.pxl", "first\nsecond\n");
  for (const int odd : {0, 1, 2, 3}) {
    const auto errors = ThreadJob(4).run([&](Processes& job) {
      // The line of a process, which may be another one for many reasons, says nothing of its state.
      job.place = [&] { return Span{&file, job.rank() == (odd + 1) % 4 ? 6u : 0u, 7u}; };
      job.meet("make a session of program p", Fingerprint().add(job.rank() == odd ? "lr 0.1" : "lr 0.2"));
    });
    for (const auto& e : errors) {
      REQUIRE(e);
      try {
        std::rethrow_exception(e);
      } catch (const Error& error) {
        REQUIRE(error.first().notes.size() >= 3);
        CHECK(error.first().notes[0].starts_with(odd == 0 ? "process 1 " : "process 0 "));
        CHECK(error.first().notes[1].starts_with("process " + std::to_string(odd) + " "));
      }
    }
  }
}

TEST_CASE("processes at one point in different states have gone apart") {
  const auto errors = ThreadJob(2).run([&](Processes& job) {
    job.meet("make a session of program p", Fingerprint().add("same"));
    job.meet("make a session of program p", Fingerprint().add(job.rank() == 0 ? "this" : "that"));
  });
  CHECK(messages(errors) == std::vector<std::string>(2, "the processes of the job have gone apart"));
}

TEST_CASE("an error that one script ends with is everybody's") {
  const auto errors = ThreadJob(3).run([&](Processes& job) {
    if (job.rank() == 1) {
      const Error own = run_error("no such file", {"a note"});
      job.meet_at_end(1, &own);
    } else {
      job.meet("start run 1 of program p");
    }
  });
  CHECK(messages(errors) == std::vector<std::string>(3, "no such file"));
  const auto alike = ThreadJob(3).run([&](Processes& job) {
    const Error own = run_error("the same everywhere");
    job.meet_at_end(1, &own);
  });
  CHECK(messages(alike) == std::vector<std::string>(3));  // each shows its own
}

TEST_CASE("a run that one process breaks off ends everywhere with the earliest error, and leaves nothing behind") {
  for (int round = 0; round < 20; ++round) {
    const auto errors = ThreadJob(4).run([&](Processes& job) {
      const auto ring = [&](int rounds) {
        for (int i = 0; i < rounds; ++i) {
          std::vector<std::byte> out(5000, std::byte(i)), in(5000);
          const Outgoing send{(job.rank() + 1) % 4, out.data(), 5000};
          const Incoming receive{(job.rank() + 3) % 4, in.data(), 5000};
          job.exchange({&send, 1}, {&receive, 1}, {"test"});
          CHECK(in == out);
        }
      };
      try {
        const int fails = job.rank() == 1 ? 3 : job.rank() == 2 ? 5 : 100;
        ring(fails);
        if (job.rank() == 1) throw job.break_off(run_error("the first failure"), 3);
        throw job.break_off(run_error("a later failure"), 5);
      } catch (const Error& e) {
        CHECK(e.first().message == "the first failure");
        CHECK(job.breaks() == 1);
      }
      ring(7);
      job.meet("go on");
    });
    CHECK(messages(errors) == std::vector<std::string>(4));
  }
}

TEST_CASE("an interrupt of one process interrupts all") {
  const auto errors = ThreadJob(3).run([&](Processes& job) {
    if (job.rank() == 2) job.break_off_interrupted();
    job.meet("start run 1 of program p");
  });
  for (int p : {0, 1}) CHECK(message_of(errors[static_cast<size_t>(p)]) == Interrupted().what());
}

TEST_CASE("a job waits for a process that starts late") {
  const auto errors = ThreadJob(3).run([](Processes& job) { job.meet("begin"); }, 60,
                                       [](int rank) {
                                         if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
                                       });
  CHECK(messages(errors) == std::vector<std::string>(3));
}

TEST_CASE("no process waits longer than it may") {
  std::barrier<> met(2);  // the limit is short: nobody comes to a meeting late because its thread does not run
  const auto errors = ThreadJob(2).run(
      [&](Processes& job) {
        if (job.rank() == 1) return;
        job.meet("wait");
      },
      2, [&](int) { met.arrive_and_wait(); });
  CHECK(message_of(errors[0]).starts_with("waited 2 s for process 1 (host test, process "));
  CHECK(!errors[1]);
}

TEST_CASE("a process that never joins the job is waited for as long as any other") {
  std::atomic<bool> over{false};
  const auto errors = ThreadJob(2).run([](Processes&) {}, 0.5,
                                       [&](int rank) {
                                         if (rank == 0) return;
                                         while (!over) std::this_thread::yield();
                                         throw run_error("it ends");
                                       },
                                       [&](int rank) { over = over || rank == 0; });
  CHECK(message_of(errors[0]) == "waited 0.5 s for process 1, at the start of the job");
}

TEST_CASE("errors survive the way to another process") {
  const SourceFile& file = add_source("sent.pxl", "a + b\n");
  auto outer = std::make_shared<Frame>(Frame{"replica 2 of 4", {}, nullptr});
  Diagnostic d{Severity::error,   Fault::failed,  "an index \xff is out of range",
               Span{&file, 0, 5}, {"one", "two"}, std::make_shared<Frame>(Frame{"Net.build", Span{&file, 4, 5}, outer}),
               codes::index};
  const Error sent(d);
  const Error got = decode_error(encode_error(sent));
  CHECK(got.first().fault == Fault::failed);
  CHECK(got.first().code == codes::index);
  CHECK(got.first().notes == d.notes);
  CHECK(got.first().span.file == &file);
  CHECK(got.first().span.end == 5);
  REQUIRE(got.first().frames);
  CHECK(got.first().frames->what == "Net.build");
  CHECK(got.first().frames->outer->what == "replica 2 of 4");
  d.message = "plain";
  CHECK(render(decode_error(encode_error(Error(d))).first()) == render(d));
}

TEST_CASE("fingerprints depend on every byte and on the order") {
  std::string text(37, 'x');
  const Fingerprint whole = Fingerprint().add(text);
  for (char& c : text) {
    ++c;
    CHECK(Fingerprint().add(text) != whole);
    --c;
  }
  CHECK(Fingerprint().add("ab").add("c") != Fingerprint().add("a").add("bc"));
  CHECK(Fingerprint().add(1).add(2) != Fingerprint().add(2).add(1));
}
