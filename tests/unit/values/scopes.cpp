// Names and scopes: few names are searched, many have a table, and both answer the same.
#include <doctest/doctest.h>

#include "interpreter/values/containers.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"

using namespace pxl;

namespace {

std::string name(int i) { return "name" + std::to_string(i); }

int64_t at(const Scope& s, const std::string& name) {
  const Value* v = s.find(name);
  return v ? v->as_int() : -1;
}

}  // namespace

TEST_CASE("a name is one pointer whatever it was made of") {
  const std::string text = "weight";
  CHECK(Name(text) == Name("weight"));
  CHECK(Name(text) == Name(std::string_view("weights").substr(0, 6)));
  CHECK_FALSE(Name("weight") == Name("bias"));
  CHECK(Name().text().empty());
  CHECK(Name(text).text() == "weight");
}

TEST_CASE("scopes with few names and with many") {
  for (int count : {1, 8, 9, 16, 17, 700}) {
    CAPTURE(count);
    const auto outer = make_ref<Scope>();
    outer->bind("outside", Value(7));
    Scope s(outer);
    for (int i = 0; i < count; ++i) s.bind(name(i), Value(i));
    for (int i = 0; i < count; ++i) CHECK(at(s, name(i)) == i);
    CHECK(at(s, "outside") == 7);
    CHECK(at(s, "nowhere") == -1);
    CHECK(s.find_here("outside") == nullptr);
    // Binding again changes the value and keeps the order.
    for (int i = 0; i < count; ++i) s.bind(name(i), Value(i + 1));
    REQUIRE(s.entries().size() == static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      CHECK(s.names()[static_cast<size_t>(i)] == name(i));
      CHECK(at(s, name(i)) == i + 1);
    }
    // Taken back, and with a name less.
    const std::vector<Scope::Entry> before = s.entries();
    s.bind("late", Value(1));
    s.erase(name(0));
    s.erase("never bound");
    CHECK(at(s, name(0)) == -1);
    CHECK(at(s, "late") == 1);
    for (int i = 1; i < count; ++i) CHECK(at(s, name(i)) == i + 1);
    s.restore(before);
    CHECK(at(s, "late") == -1);
    for (int i = 0; i < count; ++i) CHECK(at(s, name(i)) == i + 1);
  }
}

TEST_CASE("values that are copied, moved and replaced") {
  const Value text("a text that is too long to lie in a string itself");
  Value a = text, b = std::move(a);
  CHECK(a.is_none());
  CHECK(*b.as_string() == *text.as_string());
  b = *&b;
  CHECK(*b.as_string() == *text.as_string());
  b = Value(2.5);
  CHECK(b.as_double() == 2.5);
  CHECK(b.as<StringObject>() == nullptr);
  b = Value(true);
  CHECK(b.as_int() == 1);
  CHECK_THROWS(Value(1.5).as_int());
  CHECK_THROWS(Value().object());
  // A list that holds the value which replaces it.
  Value list = make_list({Value(1), text});
  list = list.as<ListObject>()->items[1];
  CHECK(*list.as_string() == *text.as_string());
  CHECK(make_tuple({}).as<SequenceObject>() != nullptr);
  CHECK(make_tuple({}).as<ListObject>() == nullptr);
}
