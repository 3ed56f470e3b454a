// IDX files, the search for MNIST, and the drawn digits. Tests that need the real files are skipped if the files are
// absent.
#include "runtime/io/dataset.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/files.hpp"

using namespace pxl;
using namespace pxl::test;
namespace fs = std::filesystem;

namespace {

const fs::path real_files = fs::path(PXL_SOURCE_DIR) / ".." / "shared" / "data" / "mnist";

std::string idx(std::vector<uint32_t> shape, const std::string& data, char type = 8) {
  std::string bytes = {0, 0, type, static_cast<char>(shape.size())};
  for (uint32_t extent : shape)
    for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(extent >> shift & 0xFF);
  return bytes + data;
}

std::string gzip(const std::string& path, const std::string& bytes) {
  gzFile file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(file);
  return path;
}

void write_set(const TemporaryFolder& folder, const std::string& prefix, uint32_t count, const std::string& labels) {
  folder.file(prefix + "-images-idx3-ubyte", idx({count, 28, 28}, std::string(count * 784, '\x80')));
  folder.file(prefix + "-labels-idx1-ubyte", idx({static_cast<uint32_t>(labels.size())}, labels));
}

}  // namespace

TEST_CASE("IDX files, plain and gzip") {
  TemporaryFolder folder;
  std::string bytes = idx({2, 3}, "abcdef");
  for (const std::string& path : {folder.file("plain", bytes), gzip(folder / "packed.gz", bytes)}) {
    Array a = read_idx(path);
    CHECK(a.dtype() == DType::uint8);
    CHECK(a.shape() == Shape{2, 3});
    CHECK(a.integer(5) == 'f');
  }
  CHECK(read_idx(folder.file("none", idx({0, 28, 28}, ""))).size() == 0);
}

TEST_CASE("corrupt IDX files are refused by name and reason") {
  TemporaryFolder folder;
  auto refused = [&](const std::string& bytes) {
    std::string path = folder.file("bad", bytes);
    std::string text = error_of([&] { read_idx(path); });
    CHECK_CONTAINS(text, path);
    return text;
  };
  CHECK_CONTAINS(error_of([&] { read_idx(folder / "missing"); }), "No such file");
  CHECK_CONTAINS(error_of([&] { read_idx(folder.path); }), "not a regular file");
  CHECK_CONTAINS(refused(""), "too short");
  CHECK_CONTAINS(refused("abcdefgh"), "magic number is 61626364");
  CHECK_CONTAINS(refused(idx({2}, "ab", 0x0D)), "type code 0x0d");
  CHECK_CONTAINS(refused(idx({}, "")), "rank 0");
  CHECK_CONTAINS(refused(std::string("\0\0\x08\xC8", 4)), "rank 200");
  CHECK_CONTAINS(refused(idx({2, 3}, "").substr(0, 9)), "header is incomplete");
  CHECK_CONTAINS(refused(idx({2, 3}, "abcde")), "truncated: its header says [2, 3] = 6 bytes");
  CHECK_CONTAINS(refused(idx({2, 3}, "abcdefg")), "longer than its header says");
  CHECK_CONTAINS(refused(idx({~0u, ~0u, ~0u}, "abc")), "larger than memory");
  CHECK_CONTAINS(refused(idx({~0u, 4}, "abc")), "truncated");

  std::string varied;
  for (int i = 0; i < 5000; ++i) varied += static_cast<char>(i * i % 251);
  std::string packed = content(gzip(folder / "good.gz", idx({5000}, varied)));
  CHECK_CONTAINS(refused(packed.substr(0, packed.size() / 2)), "truncated");
  CHECK_CONTAINS(refused(packed.substr(0, packed.size() - 3)), "truncated");
  std::string flipped = packed;
  flipped[packed.size() - 6] = static_cast<char>(flipped[packed.size() - 6] ^ 0x55);  // within the checksum
  CHECK_CONTAINS(refused(flipped), "corrupt");
  flipped = packed;
  for (size_t i = 40; i < 80; ++i) flipped[i] = static_cast<char>(~flipped[i]);
  CHECK(refused(flipped) != "no error");
}

TEST_CASE("PXL_DATA names the folder, and must have the files") {
  TemporaryFolder folder;
  Environment data("PXL_DATA", folder.path.c_str());
  CHECK_CONTAINS(error_of([] { load_mnist(1, 1); }),
                 "which lacks train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images");
  write_set(folder, "train", 3, std::string("\x05\x00\x09", 3));
  write_set(folder, "t10k", 1, "\x02");
  Mnist set = load_mnist();
  CHECK_FALSE(set.built_in);
  CHECK(set.source == folder.path);
  CHECK(set.train.images.shape() == Shape{3, 28, 28});
  CHECK(set.train.images.number(0) == doctest::Approx((128 / 255.0 - 0.1307) / 0.3081));
  CHECK(set.train.labels.dtype() == DType::int32);
  CHECK(set.train.labels.integer(2) == 9);
  CHECK(set.test.labels.integer(0) == 2);

  write_set(folder, "t10k", 2, "\x02");
  CHECK_CONTAINS(error_of([] { load_mnist(); }), "1 labels for the 2 images");
  write_set(folder, "t10k", 1, "\x0A");
  CHECK_CONTAINS(error_of([] { load_mnist(); }), "label 0 is 10, not 0 to 9");
  folder.file("t10k-images-idx3-ubyte", idx({1, 2, 2}, "abcd"));
  CHECK_CONTAINS(error_of([] { load_mnist(); }), "shape [1, 2, 2], not [n, 28, 28]");
  folder.file("t10k-images-idx3-ubyte", "garbage");
  CHECK_CONTAINS(error_of([] { load_mnist(); }), "not an IDX file");
}

TEST_CASE("the cache folder, and drawn digits where there is nothing") {
  TemporaryFolder folder;
  fs::path before = fs::current_path();
  fs::current_path("/");
  Environment data("PXL_DATA", nullptr), cache("XDG_CACHE_HOME", folder.path.c_str());
  // The executable may itself lie below a project that has the files; then they come first, as documented.
  Mnist none = load_mnist(20, 10);
  if (none.built_in) {
    CHECK(none.source == "built-in digits");
    CHECK(none.train.images.shape() == Shape{20, 28, 28});
    CHECK(none.test.labels.shape() == Shape{10});
    fs::create_directories(folder.path / "pxl" / "mnist");
    for (const char* name : {"train", "t10k"}) {
      std::string at = std::string("pxl/mnist/") + name;
      write_set(folder, at, 1, "\x03");
    }
    CHECK(load_mnist(20, 10).source == folder.path / "pxl" / "mnist");
  }
  fs::current_path(before);
}

TEST_CASE("PXL_DATA=built-in draws the digits, whatever could be found") {
  Environment data("PXL_DATA", "built-in");
  Mnist set = load_mnist(20, 10);
  CHECK(set.built_in);
  CHECK(set.source == "built-in digits");
  CHECK(identical(set.train.images, draw_digits(20, 1).images));
  CHECK_FALSE(identical(set.train.images.rows(0, 10), set.test.images));
}

TEST_CASE("files beside the project are found from a folder below it") {
  TemporaryFolder folder;
  fs::create_directories(folder.path / "shared/data/mnist");
  fs::create_directories(folder.path / "project/sub");
  write_set(folder, "shared/data/mnist/train", 1, "\x01");
  write_set(folder, "shared/data/mnist/t10k", 1, "\x01");
  fs::path before = fs::current_path();
  Environment data("PXL_DATA", nullptr);
  for (const char* below : {".", "project", "project/sub"}) {
    fs::current_path(folder.path / below);
    CHECK(fs::equivalent(load_mnist(1, 1).source, folder.path / "shared/data/mnist"));
  }
  fs::current_path(before);
}

TEST_CASE("the real MNIST files") {
  if (!fs::exists(real_files / "t10k-images-idx3-ubyte.gz")) {
    std::cout << "skipped: no MNIST files in " << real_files << "\n";
    return;
  }
  Array images = read_idx(real_files / "t10k-images-idx3-ubyte.gz"),
        labels = read_idx(real_files / "t10k-labels-idx1-ubyte.gz");
  CHECK(images.shape() == Shape{10000, 28, 28});
  CHECK(labels.shape() == Shape{10000});
  CHECK(labels.integer(0) == 7);
  CHECK(labels.integer(1) == 2);
}

TEST_CASE("drawn digits are deterministic, prefixes of larger sets, and all different") {
  DigitSet a = draw_digits(300, 7), b = draw_digits(500, 7), c = draw_digits(300, 8);
  CHECK(identical(a.images, b.images.rows(0, 300)));
  CHECK(identical(a.labels, b.labels.rows(0, 300)));
  CHECK_FALSE(identical(a.images, c.images));
  CHECK(a.images.dtype() == DType::float32);
  std::set<std::string> pictures;
  std::array<int, 10> counts{};
  for (int64_t i = 0; i < 500; ++i) {
    const float* from = b.images.data<float>() + i * 784;
    CHECK(std::count_if(from, from + 784, [](float v) { return v > 1.0f; }) > 15);  // there is ink
    CHECK(*std::min_element(from, from + 784) == doctest::Approx(-0.4242).epsilon(1e-3));
    CHECK(*std::max_element(from, from + 784) < 2.822f);
    pictures.emplace(reinterpret_cast<const char*>(from), 784 * sizeof(float));
    int64_t label = b.labels.integer(i);
    REQUIRE(label >= 0);
    REQUIRE(label <= 9);
    ++counts[static_cast<size_t>(label)];
  }
  CHECK(pictures.size() == 500);
  for (int count : counts) CHECK(count > 20);
  CHECK(draw_digits(0, 1).labels.size() == 0);
  CHECK_THROWS_AS(draw_digits(-1, 1), Error);
  CHECK_THROWS_AS(draw_digits(int64_t{1} << 50, 1), Error);
}
