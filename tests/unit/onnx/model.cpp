// Models: bytes in and out, every way in which bytes can be wrong, elements of tensors.
#include "runtime/onnx/model.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/tensor/float8.hpp"

using namespace pxl;
using namespace pxl::onnx;

namespace {

Model sample() {
  Model model;
  model.ir_version = 8;
  model.producer = "test";
  model.opsets = {{"", 17}};
  static const Array weight = Array::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
  model.graph.name = "g";
  model.graph.initialisers.push_back(from_array("w", weight));
  Node node;
  node.op = "Conv";
  node.name = "n";
  node.inputs = {"x", "", "w"};
  node.outputs = {"y"};
  Attribute a;
  a.name = "pads";
  a.kind = AttributeKind::integers;
  a.integers = {0, -1, int64_t{1} << 40};
  node.attributes.push_back(a);
  model.graph.nodes.push_back(node);
  ValueInfo value;
  value.name = "x";
  value.type = std::make_shared<Type>();
  value.type->tensor = std::make_shared<TensorType>();
  value.type->tensor->element = 1;
  value.type->tensor->shape = std::make_shared<TensorShape>();
  value.type->tensor->shape->dims = {Dimension{{0}, ""}, Dimension{{}, "batch"}, Dimension{}};
  model.graph.inputs = {value};
  value.name = "y";
  model.graph.outputs = {value};
  return model;
}

std::string defect(const std::string& bytes) {
  try {
    parse_model(bytes, "m.onnx");
  } catch (const Error& e) {
    CHECK(e.first().fault == Fault::unreadable);
    CHECK(std::string(e.what()).find("m.onnx") != std::string::npos);
    return e.what();
  }
  return "none";
}

std::string mistake(const TensorData& t, const std::string& folder = "") {
  try {
    onnx::to_array(t, folder);
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a model comes back as it was written") {
  const std::string bytes = serialise(sample());
  const Model model = parse_model(bytes, "folder/m.onnx");
  CHECK(model.folder == "folder");
  CHECK(model.opset() == 17);
  const Node& node = model.graph.nodes.at(0);
  CHECK(node.inputs == std::vector<std::string>{"x", "", "w"});
  CHECK(node.label() == "node `n` (Conv)");
  CHECK(node.attribute("pads")->integers == std::vector<int64_t>{0, -1, int64_t{1} << 40});
  CHECK(node.attribute("none") == nullptr);
  const std::vector<Dimension>& dims = model.graph.inputs.at(0).type->tensor->shape->dims;
  CHECK(dims.at(0).value == std::vector<int64_t>{0});
  CHECK(dims.at(1).parameter == "batch");
  CHECK(dims.at(2).value.empty());
  CHECK(onnx::to_array(model.graph.initialisers.at(0), "").number(3) == 4);
  CHECK(serialise(model) == bytes);
}

TEST_CASE("an attribute of 0 is written, since readers look for its field") {
  const auto written = [](AttributeKind kind) {
    Model model = sample();
    Attribute a;
    a.name = "zero";
    a.kind = kind;
    model.graph.nodes[0].attributes = {a};
    return serialise(model);
  };
  // The name, then the value: a float has 4 bytes after its tag, an int and a text have one. Then the kind.
  CHECK(has(written(AttributeKind::floating), std::string("zero\x15\0\0\0\0\xa0", 10)));
  CHECK(has(written(AttributeKind::integer), std::string("zero\x18\0\xa0", 7)));
  CHECK(has(written(AttributeKind::string), std::string("zero\x22\0\xa0", 7)));
}

TEST_CASE("damaged bytes are refused with the defect") {
  CHECK(has(defect(""), "it has no graph"));
  CHECK(has(defect("\x08"), "it ends within a number"));
  CHECK(has(defect(std::string("\x3a\x05") + "ab"), "ends beyond its message"));
  CHECK(has(defect(std::string(11, '\xff')), "more than 64 bits"));
  CHECK(has(defect(std::string("\x03", 1)), "a field has no number"));
  CHECK(has(defect("\x0f"), "a type that there is not"));
  CHECK(has(defect("\x0a\x01x"), "another type than its message declares"));
}

TEST_CASE("nesting and the number of parts are bounded") {
  // An If in an If in an If: graph 7, node 1, attribute 5, graph 6.
  std::string inner;
  for (int i = 0; i < 60; ++i)
    for (uint32_t number : {6u, 5u, 1u}) {
      WireWriter w;
      w.text(number, inner);
      inner = w.bytes;
    }
  WireWriter model;
  model.text(7, inner);
  CHECK(has(defect(model.bytes), "nested too deeply"));

  std::string nodes;
  for (int64_t i = 0; i <= max_messages; ++i) nodes += std::string("\x0a\x00", 2);
  WireWriter wide;
  wide.text(7, nodes);
  CHECK(has(defect(wide.bytes), "more than 1048576 parts"));
}

TEST_CASE("each truncation and each flipped bit of a model is a model or an error") {
  const std::string bytes = serialise(sample());
  const auto attempt = [](const std::string& changed) {
    try {
      const Model model = parse_model(changed, "m.onnx");
      for (const TensorData& t : model.graph.initialisers) onnx::to_array(t, "");
    } catch (const Error& e) {
      CHECK(!e.first().message.empty());
    }
  };
  for (size_t n = 0; n < bytes.size(); ++n) attempt(bytes.substr(0, n));
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string changed = bytes;
    changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << i % 8));
    attempt(changed);
  }
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string changed = bytes;
    for (int i = 0; i < 4; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    attempt(changed);
  }
}

TEST_CASE("elements of every type, as bytes and as numbers") {
  for (const DTypeRow& r : dtype_table()) {
    if (r.kind == DTypeKind::float8) {
      CHECK_THROWS_AS(element_type(r.dtype), Error);
      continue;
    }
    const Array a = Array::from<int32_t>({3}, std::vector<int32_t>{0, 1, 3}).cast(r.dtype);
    CHECK(identical(onnx::to_array(from_array("a", a), ""), a));
    TensorData t;
    t.dims = {3};
    t.type = static_cast<int32_t>(element_type(r.dtype));
    switch (r.dtype) {
      case DType::float32: t.floats = {0, 1, 3}; break;
      case DType::float64: t.doubles = {0, 1, 3}; break;
      case DType::int64: t.int64s = {0, 1, 3}; break;
      case DType::uint32:
      case DType::uint64: t.uint64s = {0, 1, 3}; break;
      case DType::float16: t.int32s = {0, 0x3C00, 0x4200}; break;
      case DType::bfloat16: t.int32s = {0, 0x3F80, 0x4040}; break;
      default: t.int32s = {0, 1, 3};
    }
    CHECK(identical(onnx::to_array(t, ""), a));
  }
  TensorData t;
  t.dims = {2};
  t.type = static_cast<int32_t>(ElementType::bfloat16);
  t.raw = std::string_view("\x80\x3f\x00\xc0", 4);
  const Array numbers = Array::from<float>({2}, std::vector<float>{1, -2});
  CHECK(identical(onnx::to_array(t, ""), numbers.cast(DType::bfloat16)));
}

TEST_CASE("elements of 4 bits share bytes, and float8 is stored as its bits") {
  TensorData t;
  t.dims = {3};
  const Array wholes = Array::from<int32_t>({3}, std::vector<int32_t>{7, -8, -1});
  const auto check = [&] {
    t.type = static_cast<int32_t>(ElementType::int4);
    CHECK(identical(onnx::to_array(t, ""), wholes.cast(DType::int8)));
    t.type = static_cast<int32_t>(ElementType::uint4);
    const Array positive = Array::from<int32_t>({3}, std::vector<int32_t>{7, 8, 15});
    CHECK(identical(onnx::to_array(t, ""), positive.cast(DType::uint8)));
  };
  t.raw = std::string_view("\x87\x0f", 2);
  check();
  t.raw = {};
  t.int32s = {0x87, 0x0F};
  check();
  t.int32s = {0x87};
  CHECK(has(mistake(t), "has 1 bytes where its shape and type say 2"));
  t.type = static_cast<int32_t>(ElementType::float8_e5m2);
  t.int32s = {0x3C, 0xC0, 0x7C};
  CHECK(from_float8(onnx::to_array(t, ""), DType::float32, 0).number(1) == -2);
}

TEST_CASE("elements that do not fit their shape are refused before memory is taken") {
  TensorData t;
  t.name = "w";
  t.type = 1;
  t.dims = {int64_t{1} << 40};
  t.raw = "abcd";
  CHECK(has(mistake(t), "the tensor `w` has 4 bytes where its shape and type say"));
  t.raw = {};
  t.floats = {1, 2};
  CHECK(has(mistake(t), "has 2 elements where its shape says"));
  t.dims = {-1};
  CHECK(has(mistake(t), "has the extent -1"));
  t.dims.assign(40, 1);
  CHECK(has(mistake(t), "has 40 axes"));
  t.dims = {1};
  t.type = 8;
  CHECK(has(mistake(t), "elements of string"));
}

TEST_CASE("external data lie beside the model and nowhere else") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("pxl-onnx-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "w.bin", std::ios::binary).write("xxxx\0\0\x80\x3f", 8);
  TensorData t;
  t.name = "w";
  t.type = 1;
  t.dims = {1};
  t.location = 1;
  t.external = {{"location", "w.bin"}, {"offset", "4"}, {"length", "4"}};
  CHECK(onnx::to_array(t, folder).number(0) == 1);
  t.external[1].value = "6";
  CHECK(has(mistake(t, folder), "end beyond"));
  t.external[1].value = "x";
  CHECK(has(mistake(t, folder), "the offset of its external data is `x`"));
  t.external[1].value = "0";
  t.external[2].value = "8";
  CHECK(has(mistake(t, folder), "8 bytes where its shape says 4"));
  for (const char* path : {"../w.bin", "/etc/hostname", ""}) {
    t.external = {{"location", path}};
    CHECK(has(mistake(t, folder), "not a file beside the model"));
  }
  std::filesystem::create_directories(folder / "inside" / "deep");
  std::filesystem::create_symlink("../w.bin", folder / "inside" / "near.bin");
  std::filesystem::create_symlink("..", folder / "inside" / "up");
  std::filesystem::create_symlink(folder / "w.bin", folder / "inside" / "deep" / "whole.bin");
  t.external = {{"location", "inside/near.bin"}, {"offset", "4"}};
  CHECK(onnx::to_array(t, folder).number(0) == 1);
  for (const char* path : {"near.bin", "up/w.bin", "deep/whole.bin"}) {
    t.external[0].value = path;
    CHECK(has(mistake(t, folder / "inside"), "not a file beside the model"));
  }
  t.external = {{"location", "none.bin"}};
  CHECK(has(mistake(t, folder), "cannot read its external data"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("sparse tensors become dense ones") {
  SparseTensor s;
  s.dims = {2, 3};
  const Array values = Array::from<float>({2}, std::vector<float>{5, 7});
  const Array linear = Array::from<int64_t>({2}, std::vector<int64_t>{1, 5});
  const Array pairs = Array::from<int64_t>({2, 2}, std::vector<int64_t>{0, 1, 1, 2});
  const Array outside = Array::from<int64_t>({2}, std::vector<int64_t>{1, 6});
  s.values = from_array("v", values);
  for (const Array* indices : {&linear, &pairs}) {
    s.indices = from_array("i", *indices);
    const Array dense = onnx::to_array(s, "");
    CHECK(dense.number(1) == 5);
    CHECK(dense.number(5) == 7);
    CHECK(dense.number(0) == 0);
  }
  s.indices = from_array("i", outside);
  CHECK_THROWS_AS(onnx::to_array(s, ""), Error);
}
