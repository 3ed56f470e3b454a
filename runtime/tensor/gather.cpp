// See gather.hpp.
#include "runtime/tensor/gather.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/base/team.hpp"

namespace pxl {

namespace {

constexpr size_t line = 64;
constexpr size_t divided_from = 8192;  // bytes: some microseconds where they come from memory
// Few rows are divided by columns, many by rows: as the products that read them are, so that each thread copies what it
// will read.
constexpr size_t few_rows = 16;

struct Gather {
  const std::byte* from;
  size_t width;
  std::span<const int64_t> offsets, expected;
  size_t bytes;
  std::byte* to;

  const std::byte* run(int64_t offset) const { return from + static_cast<size_t>(offset) * width; }

  static void fetch(const std::byte* begin, const std::byte* end) {
    for (const std::byte* p = begin; p < end; p += line) __builtin_prefetch(p, 0, 2);  // into the second-level cache
  }

  /// Bytes [begin, end) of the runs [first, last), and the same part of those that are expected.
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
    for (size_t i = first; i < std::min(last, expected.size()); ++i)
      fetch(run(expected[i]) + begin, run(expected[i]) + end);
  }
};

}  // namespace

void gather(const std::byte* from, size_t width, std::span<const int64_t> offsets, std::span<const int64_t> expected,
            size_t bytes, std::byte* to) {
  const Gather job{from, width, offsets, expected, bytes, to};
  const size_t rows = offsets.size();
  Team& workers = team();
  if (rows * bytes < divided_from || rows < 2 || workers.size() == 1) {
    job.part(0, rows, 0, bytes);
    return;
  }
  const int threads = workers.size();
  workers.run([&job, threads](int thread) {
    const size_t all = job.offsets.size();
    const bool by_columns = all <= few_rows && job.bytes >= 8 * line;
    const Share share = by_columns ? share_of(static_cast<int64_t>(job.bytes), thread, threads, line)
                                   : share_of(static_cast<int64_t>(all), thread, threads);
    const auto begin = static_cast<size_t>(share.begin), end = static_cast<size_t>(share.end);
    if (by_columns)
      job.part(0, all, begin, end);
    else
      job.part(begin, end, 0, job.bytes);
  });
}

}  // namespace pxl
