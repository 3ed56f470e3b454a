// Checkpoints: round trip, reports, damaged files.
#include "runtime/execute/checkpoint.hpp"

#include <cmath>

#include "runtime/execute/session.hpp"
#include "runtime/tensor/float8.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct File : TemporaryFolder {
  std::string path = *this / "a.safetensors";
  void write(const std::string& bytes) const { file("a.safetensors", bytes); }
  std::string read() const { return content(path); }
};

std::string with_header(const std::string& json, const std::string& data) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(json.size() >> (8 * i) & 0xFF);
  return bytes + json + data;
}

struct Model {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  Tensor *a, *b;
  explicit Model(const char* second, const Shape& shape) {
    Graph& g = ir->main();
    a = g.add_variable(floats({2}, {1, 2}), "a");
    b = g.add_variable(Array::full(DType::float32, shape, 3), second);
    store(*ir, Ops(g)("add", {a, a}));
  }
};

}  // namespace

TEST_CASE("arrays of every dtype survive a checkpoint") {
  const File file;
  std::vector<NamedArray> arrays;
  for (const DTypeRow& row : dtype_table())
    arrays.push_back({std::string(row.name) + "/\"quoted\"",
                      is_float8(row.dtype)
                          ? to_float8(floats({2, 2}, {1, -2, NAN, 200}), row.dtype, 0, Float8Overflow::nan)
                          : Array::full(row.dtype, {2, 3}, 1)});
  arrays.push_back({"scalar", Array::scalar(2.5F)});
  arrays.push_back({"empty", Array(DType::int32, {0, 4})});
  write_checkpoint(file.path, arrays);
  const auto back = read_checkpoint(file.path);
  REQUIRE(back.size() == arrays.size());
  for (const NamedArray& want : arrays) {
    const auto found = std::find_if(back.begin(), back.end(), [&](const NamedArray& g) { return g.name == want.name; });
    REQUIRE(found != back.end());
    CHECK(identical(found->data, want.data));
  }
}

TEST_CASE("damaged checkpoints are refused") {
  const File file;
  write_checkpoint(file.path, {{"w", counting({4})}});
  const std::string good = file.read();
  const auto refused = [&](const std::string& bytes) {
    file.write(bytes);
    return error_of([&] { read_checkpoint(file.path); });
  };
  for (size_t n = 0; n < good.size(); ++n) CHECK_CONTAINS(refused(good.substr(0, n)), "cannot read the checkpoint");
  CHECK_CONTAINS(refused(good + "x"), "17 bytes of data where its header says 16");
  CHECK_CONTAINS(refused(with_header("[1]", "")), "not a JSON object");
  CHECK_CONTAINS(refused(with_header("{\"w\": 3}", "")), "`w` has no dtype");
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return with_header("{\"w\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}",
                       "abcd");
  };
  CHECK_CONTAINS(refused(entry("\"F99\"", "[1]", "[0,4]")), "unknown dtype F99");
  CHECK_CONTAINS(refused(entry("7", "[1]", "[0,4]")), "not a string");
  CHECK_CONTAINS(refused(entry("\"F32\"", "[-1]", "[0,4]")), "no size");
  CHECK_CONTAINS(refused(entry("\"F32\"", "[2]", "[0,4]")), "8 bytes");
  CHECK_CONTAINS(refused(entry("\"F32\"", "[281474976710656,281474976710656]", "[0,4]")),
                 file.path + ": `w`: shape [281474976710656, 281474976710656] is a tensor larger than memory");
  CHECK_CONTAINS(refused(entry("\"F32\"", "[1]", "[4,0]")), "data_offsets");
  CHECK_CONTAINS(refused(entry("\"F32\"", "[1]", "[0]")), "two positions");
  CHECK_CONTAINS(refused(entry("\"I8\"", "[2]", "[2,4]")), "do not follow");
  CHECK_CONTAINS(error_of([] { read_checkpoint("/nonexistent/file"); }), "no such file");
  CHECK_CONTAINS(error_of([] { read_checkpoint("/"); }), "not a regular file");
}

TEST_CASE("a session saves and restores by name and reports what differs") {
  const File file;
  Model first_model("b", {1}), same("b", {1}), other("c", {1}), bigger("b", {2});
  Session one(first_model.ir, "cpu");
  one.write_variable_data(first_model.a, floats({2}, {7, 8}));
  one.save(file.path);

  Session two(same.ir, "cpu");
  auto report = two.restore(file.path);
  CHECK(report.loaded == std::vector<std::string>{"a", "b"});
  CHECK(identical(two.get_tensor_data(same.a), floats({2}, {7, 8})));

  Session three(other.ir, "cpu");
  report = three.load_from(one);
  CHECK(report.loaded == std::vector<std::string>{"a"});
  CHECK(report.unused == std::vector<std::string>{"b"});
  CHECK(report.missing == std::vector<std::string>{"c"});
  CHECK_CONTAINS(error_of([&] { three.restore(file.path); }), "does not have 1 of the 2 variables");
  report = three.restore(file.path, false);
  CHECK(report.missing == std::vector<std::string>{"c"});
  CHECK(report.unused == std::vector<std::string>{"b"});

  // A strict restore and a copy change nothing where they refuse.
  Session four(bigger.ir, "cpu");
  CHECK_CONTAINS(error_of([&] { four.restore(file.path); }), "does not have 1 of the 2 variables");
  CHECK_CONTAINS(error_of([&] { four.load_from(one); }), "variables differ in shape or dtype");
  CHECK(identical(four.get_tensor_data(bigger.a), bigger.a->data));
  report = four.restore(file.path, false);
  CHECK(report.mismatched == std::vector<std::string>{"b: float32[2] here, float32[1] there"});
  CHECK(identical(four.get_tensor_data(bigger.a), floats({2}, {7, 8})));

  file.write(file.read().substr(0, 40));
  CHECK_THROWS_AS(two.restore(file.path), Error);
  CHECK(identical(two.get_tensor_data(same.a), floats({2}, {7, 8})));
  CHECK_THROWS_AS(one.save("/nonexistent/dir/file"), Error);
}
