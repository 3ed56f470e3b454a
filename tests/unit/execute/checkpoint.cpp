// Checkpoints: round trip, reports, damaged files.
#include "runtime/execute/checkpoints/checkpoint.hpp"

#include <array>
#include <cmath>
#include <filesystem>

#include "runtime/execute/session.hpp"
#include "runtime/op/replica_groups.hpp"
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
  const std::string one = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  CHECK_CONTAINS(refused(with_header("{\"w\":" + one + ",\"v\":3,\"w\":" + one + "}", "x")),
                 "`w` is twice in its header");
  CHECK_CONTAINS(refused(with_header(R"({"__metadata__":{"a":"1","a":"2"}})", "")), "`a` is twice in its header");
  CHECK_CONTAINS(refused(with_header(std::string(1'000'000, '['), "")), "nested too deeply");
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

TEST_CASE("brackets in the texts of a header are not levels of it") {
  const File file;
  const std::string brackets = "[[[[{{{{\"[[[[\\";
  CheckpointFormat format;
  format.metadata = {{"note", brackets}};
  write_checkpoint(file.path, {{brackets, counting({4})}}, format);
  CHECK(read_checkpoint(file.path)[0].name == brackets);
  CHECK(read_checkpoint_metadata(file.path).back() == std::pair<std::string, std::string>("note", brackets));
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
  report = three.restore(file.path, {.strict = false});
  CHECK(report.missing == std::vector<std::string>{"c"});
  CHECK(report.unused == std::vector<std::string>{"b"});

  // A strict restore and a copy change nothing where they refuse.
  Session four(bigger.ir, "cpu");
  CHECK_CONTAINS(error_of([&] { four.restore(file.path); }), "does not have 1 of the 2 variables");
  CHECK_CONTAINS(error_of([&] { four.load_from(one); }), "variables differ in shape or dtype");
  CHECK(identical(four.get_tensor_data(bigger.a), bigger.a->data));
  report = four.restore(file.path, {.strict = false});
  CHECK(report.mismatched == std::vector<std::string>{"b: float32[2] here, float32[1] there"});
  CHECK(identical(four.get_tensor_data(bigger.a), floats({2}, {7, 8})));

  file.write(file.read().substr(0, 40));
  CHECK_THROWS_AS(two.restore(file.path), Error);
  CHECK(identical(two.get_tensor_data(same.a), floats({2}, {7, 8})));
  CHECK_THROWS_AS(one.save("/nonexistent/dir/file"), Error);
}

TEST_CASE("a checkpoint has the same bytes however many replicas hold the variables, and in whatever parts") {
  const File file;
  std::string expected;
  struct Placement {
    int replicas;
    std::vector<int64_t> shards;
  };
  for (const Placement& placement : {Placement{1, {}},
                                     {1, {0}},
                                     {2, {}},
                                     {4, {0, 0, 0, 0}},
                                     {4, {0, 1, 1, 0}},
                                     {3, {0, 0, 0}},
                                     {16, one_group(16)}}) {
    const auto ir = std::make_shared<Ir>();
    ir->replication_factor = placement.replicas;
    Graph& g = ir->main();
    Tensor* w = g.add_variable(Array::zeros(DType::float32, {3, 5}), "w", {}, placement.shards);
    Tensor* flags = g.add_variable(Array::zeros(DType::boolean, {7}), "flags", {}, placement.shards);
    Tensor* one = g.add_variable(Array::scalar(2.5F), "one", {}, placement.shards);
    store(*ir, Ops(g)("add", {one, one}));
    Session session(ir, "cpu");
    if (expected.empty()) {
      session.write_variable_data(w, counting({3, 5}));
      session.write_variable_data(flags,
                                  Array::from<bool>({7}, std::array{true, false, true, true, false, false, true}));
      session.save(file.path);
      expected = file.read();
      continue;
    }
    // Restored from the file of another placement, saved again.
    file.write(expected);
    session.restore(file.path);
    CHECK(identical(session.get_tensor_data(w), counting({3, 5})));
    file.write("");
    session.save(file.path);
    CHECK(file.read() == expected);
  }
}

TEST_CASE("arrays of a checkpoint are asked for one after the other, and read one at a time") {
  const File file;
  std::vector<size_t> asked;
  const std::vector<NamedSpec> entries = {{"a", {{2}, DType::float32, {}}}, {"b", {{3}, DType::float32, {}}}};
  write_checkpoint(file.path, entries, [&](size_t i) {
    asked.push_back(i);
    return counting(entries[i].spec.shape);
  });
  CHECK(asked == std::vector<size_t>{0, 1});
  CheckpointFile written(file.path);
  REQUIRE(written.entries().size() == 2);
  CHECK(written.entries()[1].name == "b");
  std::vector<size_t> visited;
  written.read_all_or_none([](size_t i) { return i == 1; },
                           [&](size_t i, const Array& value) {
                             visited.push_back(i);
                             CHECK(identical(value, counting({3})));
                           });
  CHECK(visited == std::vector<size_t>{1});

  // Data that cannot be read to their end change nothing.
  std::filesystem::resize_file(file.path, std::filesystem::file_size(file.path) - 4);
  CHECK_CONTAINS(error_of([&] {
                   written.read_all_or_none([](size_t) { return true; },
                                            [&](size_t, const Array&) { FAIL("visited"); });
                 }),
                 "it cannot be read to its end");
}

TEST_CASE("arrays of an open checkpoint are read when they are needed, also of a file that is gone") {
  const File file;
  write_checkpoint(file.path, {{"a", counting({4})}, {"b", counting({2, 2})}});
  const auto open = open_checkpoint(file.path);
  REQUIRE(open.size() == 2);
  CHECK(text(open[1].data.spec()) == "float32[2, 2]");
  SUBCASE("removed") { std::filesystem::remove(file.path); }
  SUBCASE("replaced") { write_checkpoint(file.path, {{"c", floats({1}, {5})}}); }
  CHECK(identical(open[0].data, counting({4})));
  CHECK(identical(open[1].data, counting({2, 2})));
}

TEST_CASE("a file that is written to while it is open is an error, no other elements and no signal") {
  const File file;
  write_checkpoint(file.path, {{"a", counting({4})}, {"b", counting({1 << 16})}});
  const auto open = open_checkpoint(file.path);
  CHECK(identical(open[0].data, counting({4})));
  std::filesystem::resize_file(file.path, 300);
  CHECK_CONTAINS(error_of([&] { (void)open[1].data.raw(); }), "written to after it had been opened");
  CHECK(identical(open[0].data, counting({4})));  // read before
}

TEST_CASE("metadata and bfloat16 of a checkpoint") {
  const File file;
  // Halfway between two neighbours goes to the even one; NaN and infinity stay.
  const std::vector<NamedArray> arrays{
      {"w", floats({6}, {1.00390625F, 1.01171875F, -3.0F, INFINITY, NAN, 1e-40F}).cast(DType::bfloat16)},
      {"d", Array::scalar<double>(0.1).cast(DType::bfloat16)},
      {"i", Array::scalar<int64_t>(7)}};
  write_checkpoint(file.path, arrays, {.metadata = {{"format", "pt"}, {"steps", "12"}}});
  CHECK_CONTAINS(file.read(), R"("w":{"dtype":"BF16","shape":[6],"data_offsets":[0,12]})");
  CHECK(read_checkpoint_metadata(file.path) ==
        std::vector<std::pair<std::string, std::string>>{{"format", "pt"}, {"steps", "12"}});
  const auto back = read_checkpoint(file.path);
  REQUIRE(back.size() == 3);
  CHECK(identical(back[0].data, arrays[0].data));
  const Array wide = back[0].data.cast(DType::float32);
  const auto* w = wide.data<float>();
  CHECK(w[0] == 1.0F);
  CHECK(w[1] == 1.015625F);
  CHECK(w[2] == -3.0F);
  CHECK(std::isinf(w[3]));
  CHECK(std::isnan(w[4]));
  CHECK(w[5] == doctest::Approx(1e-40).epsilon(0.01));
  CHECK(back[1].data.spec().dtype == DType::bfloat16);
  CHECK(back[1].data.number(0) == 0.10009765625);
  CHECK(back[2].data.integer(0) == 7);

  CHECK_CONTAINS(error_of([&] {
                   write_checkpoint(file.path, {{"__metadata__", counting({1})}});
                 }),
                 "no array can have");
  CHECK_CONTAINS(error_of([&] {
                   write_checkpoint(file.path, {{"x", counting({1})}, {"x", counting({1})}});
                 }),
                 "two arrays have the name `x`");
  file.write(with_header(R"({"__metadata__":{"a":1}})", ""));
  CHECK_CONTAINS(error_of([&] { read_checkpoint(file.path); }), "its metadata `a` are not a string");
  file.write(with_header(R"({"__metadata__":[]})", ""));
  CHECK_CONTAINS(error_of([&] { read_checkpoint(file.path); }), "its metadata are not a JSON object");
}
