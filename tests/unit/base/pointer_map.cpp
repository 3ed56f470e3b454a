// Maps and sets of pointers.
#include "runtime/base/pointer_map.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <unordered_map>

using namespace pxl;

TEST_CASE("a map of pointers finds what was inserted, and nothing else") {
  std::vector<int> keys(5000);
  PointerMap<const int*, size_t> map;
  CHECK(map.find(&keys[0]) == map.end());
  CHECK(map.empty());
  for (size_t i = 0; i < keys.size(); i += 2) CHECK(map.emplace(&keys[i], i).second);
  CHECK(map.size() == 2500);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto* found = map.find(&keys[i]);
    if (i % 2 != 0) {
      CHECK(found == map.end());
      CHECK(map.count(&keys[i]) == 0);
      CHECK_THROWS_AS(map.at(&keys[i]), std::out_of_range);
    } else {
      REQUIRE(found != map.end());
      CHECK(found->second == i);
      CHECK(map.at(&keys[i]) == i);
    }
  }
  CHECK(map.find(nullptr) == map.end());
  CHECK_FALSE(map.emplace(&keys[4], 7u).second);
  CHECK(map.at(&keys[4]) == 4);
  map[&keys[4]] = 7;
  CHECK(map.at(&keys[4]) == 7);
  CHECK(map[&keys[1]] == 0);
}

TEST_CASE("a map of pointers agrees with the standard one") {
  std::vector<std::unique_ptr<int>> keys;  // addresses as allocations give them
  for (int i = 0; i < 300; ++i) keys.push_back(std::make_unique<int>(i));
  PointerMap<int*, std::vector<int>> map;
  std::unordered_map<int*, std::vector<int>> expected;
  map.reserve(10);
  for (int i = 0; i < 3000; ++i) {
    int* key = keys[static_cast<size_t>(i * 7919 % 300)].get();
    map[key].push_back(i);
    expected[key].push_back(i);
  }
  size_t seen = 0;
  map.for_each([&](int* key, const std::vector<int>& values) {
    CHECK(values == expected.at(key));
    ++seen;
  });
  CHECK(seen == expected.size());
  map.clear();
  CHECK(map.empty());
  CHECK(map.find(keys[0].get()) == map.end());
}

TEST_CASE("a set of pointers holds each once") {
  std::vector<int> keys(100);
  PointerSet<const int*> set;
  for (int round = 0; round < 2; ++round)
    for (const int& key : keys) CHECK(set.insert(&key) == (round == 0));
  CHECK(set.size() == keys.size());
  CHECK(set.count(keys.data()) == 1);
  CHECK(set.count(keys.data() + keys.size()) == 0);
}
