#include "runtime/tensor/block_cache.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "runtime/tensor/array.hpp"

using namespace pxl;

#if !defined(__SANITIZE_ADDRESS__)
namespace {

constexpr size_t megabyte = size_t{1} << 20;
std::byte* block(size_t bytes) { return static_cast<std::byte*>(std::aligned_alloc(2 * megabyte, bytes)); }

}  // namespace

TEST_CASE("freed blocks are taken again, by their size, the last one first") {
  release_cached_blocks();
  std::byte *a = block(2 * megabyte), *b = block(2 * megabyte), *c = block(4 * megabyte);
  free_or_cache_block(a, 2 * megabyte);
  free_or_cache_block(b, 2 * megabyte);
  free_or_cache_block(c, 4 * megabyte);
  CHECK(take_cached_block(8 * megabyte) == nullptr);
  CHECK(take_cached_block(2 * megabyte) == b);
  CHECK(take_cached_block(4 * megabyte) == c);
  CHECK(take_cached_block(2 * megabyte) == a);
  CHECK(take_cached_block(2 * megabyte) == nullptr);
  for (std::byte* p : {a, b, c}) std::free(p);
}

TEST_CASE("a bounded amount is kept") {
  release_cached_blocks();
  for (int i = 0; i < 5; ++i) free_or_cache_block(block(60 * megabyte), 60 * megabyte);
  free_or_cache_block(block(100 * megabyte), 100 * megabyte);
  CHECK(take_cached_block(100 * megabyte) == nullptr);
  std::byte *a = take_cached_block(60 * megabyte), *b = take_cached_block(60 * megabyte);
  CHECK(a != nullptr);
  CHECK(b != nullptr);
  CHECK(take_cached_block(60 * megabyte) == nullptr);
  std::free(a);
  std::free(b);
}

TEST_CASE("an array takes the memory of one that was freed, and zeros are zeros") {
  release_cached_blocks();
  for (const Shape& shape : {Shape{1024, 1024}, Shape{128, 128}, Shape{129, 131}, Shape{511, 1024}}) {
    const std::byte* before = nullptr;
    {
      Array a(DType::float32, shape);
      before = a.raw();
      a.mutable_data<float>()[7] = 1;
    }
    CHECK(Array::zeros(DType::float32, shape).data<float>()[7] == 0);
    CHECK(Array(DType::float32, shape).raw() == before);
  }
}
#endif
