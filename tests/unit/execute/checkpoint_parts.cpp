// Checkpoints in several files: assembled from parts, and refused where index and files do not fit.
#include "runtime/execute/checkpoints/checkpoint_parts.hpp"

#include <algorithm>

#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/files.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// Values w [2, 3] in two files and s, a scalar, in the second.
struct Parts : TemporaryFolder {
  CheckpointIndex index;
  Parts() {
    index.files = {checkpoint_part_name(0, 2), checkpoint_part_name(1, 2)};
    write_checkpoint(*this / index.files[0], {{"w[0:4]", floats({4}, {1, 2, 3, 4})}});
    write_checkpoint(
        *this / index.files[1],
        {{"s[0:1]", floats({1}, {7})}, {"w[4:6]", floats({2}, {5, 6})}, {"wrong", floats({3}, {0, 0, 0})}});
    index.values = {{{"w", {{2, 3}, DType::float32, {}}}, {{0, "w[0:4]", 0, 4}, {1, "w[4:6]", 4, 6}}},
                    {{"s", {{}, DType::float32, {}}}, {{1, "s[0:1]", 0, 1}}}};
    write(index_text(index));
  }
  void write(const std::string& text) const { file("index.json", text); }
  std::string refused(const CheckpointIndex& changed) const {
    write(index_text(changed));
    return error_of([&] { read_checkpoint(path.string()); });
  }
};

}  // namespace

TEST_CASE("a value is put together from the parts in several files") {
  const Parts parts;
  CHECK(parts.index.files[1] == "00001-of-00002.safetensors");
  const std::vector<NamedArray> read = read_checkpoint(parts.path.string());
  REQUIRE(read.size() == 2);
  CHECK(read[0].name == "w");
  CHECK(identical(read[0].data, floats({2, 3}, {1, 2, 3, 4, 5, 6})));
  CHECK(identical(read[1].data, Array::scalar(7.0F)));
}

TEST_CASE("an index that does not fit its files is refused") {
  const Parts parts;
  const std::string good = index_text(parts.index);
  for (size_t n = 0; n + 1 < good.size(); n += 7) {
    parts.write(good.substr(0, n));
    CHECK_CONTAINS(error_of([&] { read_checkpoint(parts.path.string()); }), "cannot read the checkpoint");
  }
  const auto changed = [&](const auto& change) {
    CheckpointIndex index = parts.index;
    change(index);
    return parts.refused(index);
  };
  CHECK_CONTAINS(changed([](CheckpointIndex& i) { i.values[0].parts.pop_back(); }), "have 4 of its 6 elements");
  CHECK_CONTAINS(changed([](CheckpointIndex& i) { i.values[0].parts[1].begin = 3; }), "do not follow each other");
  CHECK_CONTAINS(changed([](CheckpointIndex& i) { i.values[0].parts[1].file = 2; }), "there is no file 2");
  CHECK_CONTAINS(changed([](CheckpointIndex& i) { i.values[0].parts[1].entry = "v"; }), "it has no `v`");
  CHECK_CONTAINS(changed([](CheckpointIndex& i) { i.values[0].parts[1].entry = "wrong"; }), "not what the index says");
  CHECK_CONTAINS(changed([](CheckpointIndex& i) { i.values[1].value.spec.dtype = DType::int32; }),
                 "not what the index says");
  CHECK_CONTAINS(changed([](CheckpointIndex& i) { i.files[0] = "../elsewhere"; }), "a file has no name");
  CHECK_CONTAINS(changed([](CheckpointIndex& i) { i.files[0] = "missing"; }), "there is no such file");
  std::filesystem::remove(parts.path / "index.json");
  CHECK_CONTAINS(error_of([&] { read_checkpoint(parts.path.string()); }), "it has no index");
}
