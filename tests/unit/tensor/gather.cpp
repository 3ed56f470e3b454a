// Rows picked by position, whole or shared out among threads.
#include "runtime/tensor/gather.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "runtime/tensor/array.hpp"

using namespace pxl;

TEST_CASE("gathered runs are those at the offsets, however many threads copy") {
  Array from(DType::float32, {300, 500});
  auto* values = from.mutable_data<float>();
  for (int64_t i = 0; i < from.size(); ++i) values[i] = static_cast<float>(i);
  for (size_t count : {1U, 2U, 8U, 17U, 200U}) {
    for (size_t run : {1U, 3U, 160U, 500U}) {
      CAPTURE(count);
      CAPTURE(run);
      std::vector<int64_t> offsets;
      for (size_t i = 0; i < count; ++i) {
        offsets.push_back(static_cast<int64_t>(i * 97 % 300) * 500);
      }
      std::vector<float> to(count * run);
      const std::vector<int64_t> expected(offsets.begin(), offsets.begin() + static_cast<int64_t>(count / 2));
      gather(from.raw(), sizeof(float), offsets, expected, run * sizeof(float),
             reinterpret_cast<std::byte*>(to.data()));
      bool same = true;
      for (size_t i = 0; i < count; ++i)
        same = same && std::memcmp(to.data() + i * run, values + offsets[i], run * sizeof(float)) == 0;
      CHECK(same);
    }
  }
}
