// Lazy arrays: elements that are read when they are first needed.
#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/tensor/array.hpp"
#include "runtime/tensor/print.hpp"

using namespace pxl;

namespace {

/// Reads 0, 1, ... and counts how often.
struct Source {
  std::shared_ptr<std::atomic<int>> reads = std::make_shared<std::atomic<int>>(0);
  Array array(const Shape& shape) const {
    return Array::lazy(DType::int32, shape, [reads = reads, shape] {
      ++*reads;
      Array a(DType::int32, shape);
      for (int32_t i = 0; i < a.size(); ++i) a.mutable_data<int32_t>()[i] = i;
      return a;
    });
  }
};

}  // namespace

TEST_CASE("a lazy array has its spec before its elements, and reads them once for all copies") {
  const Source source;
  const Array a = source.array({2, 3});
  const Array copy = a, flat = a.reshaped({6});
  CHECK(a.has_elements());
  CHECK(a.bytes() == 24);
  CHECK(*source.reads == 0);
  CHECK(flat.integer(4) == 4);
  CHECK(*source.reads == 1);
  CHECK(copy.raw() == a.raw());
  CHECK(a.rows(1, 2).integer(0) == 3);
  CHECK(identical(a.clone(), a));
  CHECK(to_text(a.cast(DType::float32)) == "[[0. 1. 2.]\n [3. 4. 5.]]");
  CHECK(*source.reads == 1);
}

TEST_CASE("changing a lazy array changes no copy of it") {
  const Source source;
  Array a = source.array({3});
  const Array copy = a;
  a.mutable_data<int32_t>()[0] = 9;
  CHECK(a.integer(0) == 9);
  CHECK(copy.integer(0) == 0);
  CHECK(*source.reads == 1);
  Array alone = source.array({3});
  const std::byte* before = alone.raw();
  CHECK(alone.mutable_raw() == before);  // the only one: not copied
}

TEST_CASE("an exception of a read reaches the caller that needs the elements, and the next caller reads again") {
  int reads = 0;
  const Array a = Array::lazy(DType::int8, {1}, [&]() -> Array {
    if (++reads == 1) throw Error("no disk");
    return Array::zeros(DType::int8, {1});
  });
  CHECK_THROWS_AS((void)a.raw(), Error);
  CHECK(a.integer(0) == 0);
  CHECK(reads == 2);
}

TEST_CASE("threads that need a lazy array at the same time read it once") {
  const Source source;
  const Array a = source.array({1000});
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, mine = a] {
      for (int64_t i = 0; i < mine.size(); ++i) sum += mine.integer(i);
    });
  for (std::thread& t : threads) t.join();
  CHECK(sum == 4 * 499500);
  CHECK(*source.reads == 1);
}

TEST_CASE("a large array of one value takes memory when its elements are needed") {
  std::vector<Array> arrays;  // 256 GiB
  for (int i = 0; i < 4096; ++i) arrays.push_back(Array::repeated(Array::scalar(2.5F), {1 << 24}));
  Array changed = arrays[7];
  changed.mutable_data<float>()[1] = 1;
  CHECK(changed.number(0) == 2.5);
  CHECK(changed.number((1 << 24) - 1) == 2.5);
  CHECK(arrays[7].number(1) == 2.5);
}
