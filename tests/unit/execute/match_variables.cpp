// Which variable is which: by name where one can be meant, by path where several have one name, and never by chance.
#include "runtime/execute/checkpoints/match_variables.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace pxl;

namespace {

NamedVariable variable(const std::string& name, Shape shape, VariablePath path = {}) {
  return {name, {std::move(shape), DType::float32, {}}, std::move(path)};
}

/// The names there, by variable here; "-" where there is none.
std::vector<std::string> matched(const std::vector<NamedVariable>& here, const std::vector<NamedVariable>& there) {
  std::vector<std::string> names;
  for (const size_t t : match_variables(here, there).source)
    names.push_back(t == VariableMatches::none ? "-" : there[t].name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("numbers that make names differ are no part of them") {
  CHECK(base_name("weight__t12") == "weight");
  CHECK(base_name("weight__t3.first_order__t9") == "weight.first_order");
  CHECK(base_name("weight__tx") == "weight__tx");
  CHECK(base_name("__t1") == "__t1");
  CHECK(base_name("a__t1b") == "a__t1b");
}

TEST_CASE("a name that one variable of each side has is enough") {
  CHECK(matched({variable("w", {2}, {"g", "w"})}, {variable("w__t4", {2}, {"other", "w"})}) == Names{"w__t4"});
  CHECK(matched({variable("w", {2})}, {variable("v", {2})}) == Names{"-"});
}

TEST_CASE("paths decide where several variables have one name") {
  const std::vector<NamedVariable> gan = {variable("w", {2}, {"g", "w"}), variable("w__t1", {2}, {"d", "w"})};
  CHECK(matched({variable("w", {2}, {"d", "w"}), variable("w__t7", {2}, {"g", "w"})}, gan) == Names{"w__t1", "w"});
  CHECK(matched({variable("w", {2}, {"d", "w"})}, gan) == Names{"w__t1"});
  // One is renamed: the one that is left. Both are: no choice.
  CHECK(matched({variable("w", {2}, {"d", "w"}), variable("w__t7", {2}, {"x", "w"})}, gan) == Names{"w__t1", "w"});
  const std::vector<NamedVariable> strangers = {variable("w", {2}, {"x", "w"}), variable("w__t7", {2}, {"y", "w"})};
  CHECK(matched(strangers, gan) == Names{"-", "-"});
  CHECK(match_variables(strangers, gan).undecided.size() == 2);
  // Specs tell them apart.
  CHECK(matched({variable("w", {3}, {"x", "w"}), variable("w__t7", {2}, {"y", "w"})},
                {variable("w", {2}, {"g", "w"}), variable("w__t1", {3}, {"d", "w"})}) == Names{"w__t1", "w"});
}

TEST_CASE("a checkpoint's names are prefixes and paths, and the order and names of tensors do not count") {
  const std::vector<NamedVariable> file = {variable("d.w", {2}, {"d", "w"}), variable("g.w", {2}, {"g", "w"})};
  const std::vector<NamedVariable> here = {variable("w", {2}, {"g", "w"}), variable("w__t1", {2}, {"d", "w"})};
  CHECK(matched(here, file) == Names{"g.w", "d.w"});
  // A file whose metadata are lost has the names.
  CHECK(matched(here, {variable("d.w", {2}), variable("g.w", {2})}) == Names{"g.w", "d.w"});
  // The tensor `w` of another net is not the file's variable `w`.
  CHECK(matched({variable("w", {3}, {"g", "w"})}, {variable("w", {3}, {"w", ""})}) == Names{"-"});
  CHECK((variable("w__t1", {2}, {"", "w"}).checkpoint_name() == "w"));
}

TEST_CASE("without paths equal names match, and it is said where only the order of calls tells them apart") {
  const std::vector<NamedVariable> here = {variable("w", {2}, {"g", "w"}), variable("w__t1", {2}, {"d", "w"})};
  const std::vector<NamedVariable> old = {variable("w__t1", {2}), variable("w", {2})};
  CHECK(matched(here, old) == Names{"w", "w__t1"});
  CHECK(match_variables(here, old).by_order == Names{"g.w", "d.w"});
  const std::vector<NamedVariable> other_specs = {variable("w", {2}), variable("w__t1", {3})};
  CHECK(match_variables(other_specs, other_specs).by_order.empty());
}

TEST_CASE("state that had the path of its variable before its name has the name of its variable") {
  CHECK(matched({variable("d.w", {2}), variable("d.w.sum", {2})}, {variable("d.w", {2}), variable("w.sum", {2})}) ==
        Names{"d.w", "w.sum"});
}

TEST_CASE("paths come back from their text, and what is no such text has none") {
  std::vector<NamedVariable> all = {variable("w", {2}, {"g", "w"}), variable("w__t1", {2}, {"nets.0", "a.b"}),
                                    variable("plain", {2})};
  const std::string text = paths_text(all);
  std::vector<NamedVariable> read = {variable("g.w", {2}), variable("nets.0.a.b", {2}), variable("plain", {2})};
  read_paths(text, read);
  for (size_t i = 0; i < all.size(); ++i) CHECK(read[i].path == all[i].path);
  for (size_t cut = 0; cut < text.size(); ++cut) {
    std::vector<NamedVariable> damaged = {variable("g.w", {2})};
    read_paths(text.substr(0, cut), damaged);
    CHECK_FALSE(damaged[0].path.known());
  }
}

// Nets with equal params, bound in random orders: each variable finds the one of its own path.
TEST_CASE("the order in which nets are bound changes no match") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const int nets = 1 + static_cast<int>(random() % 4), params = 1 + static_cast<int>(random() % 3);
    const auto program = [&] {
      std::vector<int> order(static_cast<size_t>(nets));
      for (int i = 0; i < nets; ++i) order[static_cast<size_t>(i)] = i;
      std::shuffle(order.begin(), order.end(), random);
      std::vector<NamedVariable> all;
      for (const int net : order)
        for (int p = 0; p < params; ++p) {
          const std::string path = "p" + std::to_string(p);
          const std::string number = net == order[0] ? "" : "__t" + std::to_string(random() % 100);
          all.push_back(variable(path + number, {2 + p}, {"net" + std::to_string(net), path}));
        }
      return all;
    };
    const std::vector<NamedVariable> here = program(), there = program();
    const VariableMatches matches = match_variables(here, there);
    for (size_t h = 0; h < here.size(); ++h) {
      REQUIRE(matches.source[h] != VariableMatches::none);
      CHECK(there[matches.source[h]].path == here[h].path);
    }
    CHECK(matches.by_order.empty());
  }
}
