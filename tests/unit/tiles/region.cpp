// Regions and layouts: sets of elements, and who stores which.
#include "runtime/tiles/region.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "runtime/tiles/layout.hpp"

using namespace pxl;
using namespace pxl::tiles;

namespace {

std::set<int64_t> elements(const Region& r) {
  std::set<int64_t> all;
  r.for_each([&](int64_t e) { all.insert(e); });
  return all;
}

Region random_region(std::mt19937& rng, int64_t n) {
  std::vector<int64_t> some;
  for (int64_t e = 0; e < n; ++e)
    if (rng() % 3) some.push_back(e);
  return Region::of(some);
}

}  // namespace

TEST_CASE("regions are sets") {
  std::mt19937 rng(7);
  for (int turn = 0; turn < 200; ++turn) {
    const Region a = random_region(rng, 40), b = random_region(rng, 40);
    const std::set<int64_t> in_a = elements(a), in_b = elements(b), both = elements(intersection(a, b)),
                            either = elements(merged(a, b)), rest = elements(difference(a, b));
    int64_t index = 0;
    for (int64_t e = 0; e < 40; ++e) {
      CHECK(both.count(e) == in_a.count(e) * in_b.count(e));
      CHECK(either.count(e) == std::max(in_a.count(e), in_b.count(e)));
      CHECK(rest.count(e) == in_a.count(e) * (1 - in_b.count(e)));
      CHECK(a.index_of(e) == (in_a.count(e) ? index++ : -1));
    }
    CHECK(a.size() == index);
  }
}

TEST_CASE("boxes and their text") {
  const Shape shape{3, 4, 5};
  CHECK(text(Region::box(shape, {{0, 3}, {1, 3}, {2, 5}}), shape) == "[0:3, 1:3, 2:5]");
  CHECK(text(Region::box(shape, {{1, 2}, {0, 4}, {0, 5}}), shape) == "[1, 0:4, 0:5]");
  CHECK(Region::box(shape, {{1, 2}, {0, 4}, {0, 5}}).ranges().size() == 1);
  CHECK(text(Region::of({0, 1, 7}), {10}) == "elements 0:2, 7");
  CHECK(text(Region::all(1), {}) == "[]");
  CHECK(text(Region::of({18, 19, 20, 21}), shape) == "elements 18:22");
}

TEST_CASE("a layout stores each element once a copy, as many on a tile as the mapping says") {
  std::mt19937 rng(11);
  for (int turn = 0; turn < 300; ++turn) {
    Machine m = parse_machine("mk2,tiles=" + std::to_string(4 + rng() % 29));
    Shape shape;
    for (size_t i = 0; i < 1 + rng() % 3; ++i) shape.push_back(static_cast<int64_t>(1 + rng() % 7));
    const TensorSpec spec{shape, DType::float32, {}};
    std::vector<int32_t> parts;
    for (const int64_t extent : shape) parts.push_back(static_cast<int32_t>(1 + rng() % static_cast<uint64_t>(extent)));
    TileMapping mapping =
        rng() % 3 ? block_mapping(spec, parts, static_cast<int64_t>(1 + rng() % 3), static_cast<int64_t>(1 + rng() % 2))
                  : linear_mapping(m, spec);
    if (mapping.flat) mapping.tiles_used = static_cast<int32_t>(1 + rng() % 4), mapping.grain = 2;
    const Layout layout(m, mapping, shape);
    REQUIRE(layout.copies() == static_cast<size_t>(mapping.copies));
    for (size_t copy = 0; copy < layout.copies(); ++copy) {
      int64_t next = 0;
      for (const Layout::Owner& o : layout.owners(copy)) {
        CHECK(o.elements.begin == next);
        CHECK(layout.on(o.tile).index_of(o.elements.begin) >= 0);
        next = o.elements.end;
      }
      CHECK(next == spec.size());
    }
    if (mapping.tiles() > m.tiles) continue;  // some tiles store two shares
    const std::vector<int64_t> counts = elements_by_tile(m, mapping, shape);
    for (int32_t t = 0; t < layout.tiles(); ++t) CHECK(layout.on(t).size() == counts[static_cast<size_t>(t)]);
  }
}
