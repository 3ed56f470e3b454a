// .npy files: round trips, NumPy's own bytes, and every way a file can be wrong.
#include "runtime/io/npy.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/files.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

std::string npy(std::string dictionary, const std::string& data, char major = 1) {
  dictionary += "\n";
  std::string bytes = "\x93NUMPY";
  bytes += {major, '\0', static_cast<char>(dictionary.size() & 0xFF), static_cast<char>(dictionary.size() >> 8)};
  if (major > 1) bytes += std::string(2, '\0');
  return bytes + dictionary + data;
}

std::string message(const std::string& path) {
  try {
    load_npy(path);
  } catch (const Error& error) {
    CHECK(error.first().fault == Fault::unreadable);
    std::string text = error.what();
    CHECK(text.find(path) != std::string::npos);
    return text;
  }
  return "no error";
}

}  // namespace

TEST_CASE("every dtype comes back as it was saved") {
  TemporaryFolder folder;
  for (const DTypeRow& r : dtype_table()) {
    if (r.npy.empty()) {
      CHECK_THROWS_AS(save_npy(folder / "x.npy", Array::zeros(r.dtype, {2})), Error);
      continue;
    }
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}, Shape{2, 1, 2}}) {
      Array a(DType::float64, shape);
      for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<double>()[i] = static_cast<double>(i) * 1.5;
      Array saved = a.cast(r.dtype);
      save_npy(folder / "x.npy", saved);
      CHECK(identical(load_npy(folder / "x.npy"), saved));
    }
  }
}

TEST_CASE("the saved bytes are NumPy's") {
  TemporaryFolder folder;
  save_npy(folder / "x.npy", Array::from<float>({2, 1}, std::vector<float>{1.0f, -2.0f}));
  std::ostringstream text;
  text << std::ifstream(folder / "x.npy", std::ios::binary).rdbuf();
  std::string bytes = text.str(), header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  CHECK(bytes.size() == 128 + 8);
  CHECK(bytes.substr(0, 10) == std::string("\x93NUMPY\x01\x00v\x00", 10));
  CHECK(bytes.substr(10, header.size()) == header);
  CHECK(bytes[127] == '\n');
}

TEST_CASE("versions, orders and spellings") {
  TemporaryFolder folder;
  std::string six = {0, 1, 2, 3, 4, 5};
  for (char major : {1, 2, 3}) {
    Array a =
        load_npy(folder.file("v.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}", six, major)));
    CHECK(a.shape() == Shape{2, 3});
    CHECK(a.integer(3) == 3);
  }
  Array f = load_npy(folder.file("f.npy", npy("{\"shape\": (2, 3), 'descr': '<i1', 'fortran_order': True, }", six)));
  CHECK(f.dtype() == DType::int8);
  CHECK(f.integer(0) == 0);
  CHECK(f.integer(1) == 2);
  CHECK(f.integer(3) == 1);
  Array b = load_npy(
      folder.file("b.npy", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", std::string("\x02\0", 2))));
  CHECK(b.integer(0) == 1);
  CHECK(b.data<bool>()[0] == true);
}

TEST_CASE("files that are not .npy, or lie, are refused") {
  TemporaryFolder folder;
  auto refused = [&](const std::string& bytes) { return message(folder.file("bad.npy", bytes)); };
  CHECK_CONTAINS(message(folder / "missing.npy"), "No such file");
  CHECK_CONTAINS(message(folder.path), "not a regular file");
  CHECK_CONTAINS(refused(""), "too short");
  CHECK_CONTAINS(refused("PK\x03\x04 something else"), "does not start with");
  CHECK_CONTAINS(refused(npy("{}", "", 9)), "version 9 is unknown");
  CHECK_CONTAINS(refused(std::string("\x93NUMPY\x02\0\xff\xff\xff\x7f", 12)), "a header of 2147483647 bytes");
  CHECK_CONTAINS(refused(std::string("\x93NUMPY\x01\0\x80", 9)), "ends within");
  CHECK_CONTAINS(refused(npy("", "")), "no '{'");
  CHECK_CONTAINS(refused(npy("{'descr': '<f4', 'fortran_order': False}", "")), "lacks");
  CHECK_CONTAINS(refused(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}", "1234")),
                 "neither True nor False");
  CHECK_CONTAINS(refused(npy("{'descr': '>f4', 'fortran_order': False, 'shape': ()}", "1234")), "big-endian");
  CHECK_CONTAINS(refused(npy("{'descr': '|O', 'fortran_order': False, 'shape': ()}", "1234")), "type '|O'");
  CHECK_CONTAINS(refused(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "1234")), "structured");
  CHECK_CONTAINS(refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234")),
                 "needs 8 bytes and 4 are there");
  CHECK_CONTAINS(refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "12345")),
                 "needs 4 bytes and 5 are there");
  CHECK_CONTAINS(refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}", "")),
                 "larger than memory");
  CHECK_CONTAINS(refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "")),
                 "too large");
  CHECK_CONTAINS(refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "")), "not a tuple");
  CHECK_CONTAINS(refused(npy("{'descr': '<f4', 'evil': 1}", "")), "unknown header key 'evil'");
  CHECK_CONTAINS(refused(npy("{'descr': '<f4", "")), "without an end");
  CHECK_THROWS_AS(save_npy("/nowhere/x.npy", Array()), Error);
}
