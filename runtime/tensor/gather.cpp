#include "runtime/tensor/gather.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/threads/parallel_copy.hpp"
#include "runtime/base/threads/thread_pool.hpp"

namespace pxl {

namespace {

constexpr size_t line = 64;
constexpr size_t min_parallel_bytes = 8192;  // bytes: some microseconds where they come from memory
// Maximum number of rows that are partitioned by columns; more rows are partitioned by rows. The GEMMs that read the
// rows partition them alike, so each thread copies the elements that it will read.
constexpr size_t max_rows_by_columns = 16;

void fetch(const std::byte* begin, const std::byte* end) {
  for (const std::byte* p = begin; p < end; p += line) __builtin_prefetch(p, 0, 2);  // into L2
}

/// Software prefetch of memory that is likely to be read soon, a few cache lines at a time while a thread waits for
/// others. More lines at once would exceed the line fill buffers and stall the thread.
class Ahead {
 public:
  void clear() {
    parts_.clear();
    at_ = 0;
  }
  void add(const std::byte* begin, const std::byte* end) {
    if (begin < end) parts_.push_back({begin, end});
  }
  bool empty() const { return at_ == parts_.size(); }
  /// Prefetches the next lines; returns false at the end.
  bool piece() {
    constexpr size_t lines = 4;
    if (empty()) return false;
    Part& part = parts_[at_];
    const std::byte* end = std::min(part.end, part.begin + lines * line);
    fetch(part.begin, end);
    part.begin = end;
    if (part.begin == part.end) ++at_;
    return !empty();
  }
  static Ahead& own() { return of_thread<Ahead>(); }

 private:
  struct Part {
    const std::byte *begin, *end;
  };
  std::vector<Part> parts_;
  size_t at_ = 0;
};

struct Gather {
  const std::byte* from;
  size_t width;
  std::span<const int64_t> offsets, expected;
  size_t bytes;
  std::byte* to;

  const std::byte* run(int64_t offset) const { return from + static_cast<size_t>(offset) * width; }

  /// Copies bytes [begin, end) of the runs [first, last).
  void part(size_t first, size_t last, size_t begin, size_t end) const {
    constexpr size_t ahead = 2;
    const auto prepare = [&](size_t i) {
      if (i < last && end - begin >= 4 * line) fetch(run(offsets[i]) + begin, run(offsets[i]) + end);
    };
    for (size_t i = first; i < first + ahead; ++i) prepare(i);
    for (size_t i = first; i < last; ++i) {
      prepare(i + ahead);
      std::memcpy(to + i * bytes + begin, run(offsets[i]) + begin, end - begin);
    }
  }

  void prefetch_expected() const {
    for (const int64_t offset : expected) fetch(run(offset), run(offset) + bytes);
  }

  /// Copies a part, and prefetches the same part of the expected runs.
  void part_ahead(size_t first, size_t last, size_t begin, size_t end, Ahead& ahead) const {
    for (size_t i = first; i < std::min(last, expected.size()); ++i)
      ahead.add(run(expected[i]) + begin, run(expected[i]) + end);
  }
};

}  // namespace

void gather(const std::byte* from, size_t width, std::span<const int64_t> offsets, std::span<const int64_t> expected,
            size_t bytes, std::byte* to) {
  const Gather job{from, width, offsets, expected, bytes, to};
  const size_t rows = offsets.size();
  ThreadPool& workers = thread_pool();
  if (rows * bytes < min_parallel_bytes || rows < 2 || workers.size() == 1) {
    job.part(0, rows, 0, bytes);
    job.prefetch_expected();
    return;
  }
  const double expected_ns = static_cast<double>(rows * bytes) * copy_ns_per_byte;
  const auto chunk = [&job](int thread, int threads) {
    const size_t all = job.offsets.size();
    const bool by_columns = all <= max_rows_by_columns && job.bytes >= 8 * line;
    struct Block {
      size_t first, last, begin, end;
    };
    const auto block = [&](int t) {
      const ChunkRange share = by_columns ? chunk_range(static_cast<int64_t>(job.bytes), t, threads, line)
                                          : chunk_range(static_cast<int64_t>(all), t, threads);
      const auto begin = static_cast<size_t>(share.begin), end = static_cast<size_t>(share.end);
      return by_columns ? Block{0, all, begin, end} : Block{begin, end, 0, job.bytes};
    };
    const Block own = block(thread);
    job.part(own.first, own.last, own.begin, own.end);
    if (threads == 1) job.prefetch_expected();
    // The other threads prefetch while they wait for the caller; the first one also prefetches its own part.
    if (thread == 0 || job.expected.empty()) return;
    Ahead& ahead = Ahead::own();
    ahead.clear();
    job.part_ahead(own.first, own.last, own.begin, own.end, ahead);
    if (thread == 1) {
      const Block callers = block(0);
      job.part_ahead(callers.first, callers.last, callers.begin, callers.end, ahead);
    }
    idle_hook = [] { return Ahead::own().piece(); };
  };
  workers.run(chunk, expected_ns);
}

}  // namespace pxl
