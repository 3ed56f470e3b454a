// Ops whose definitions need to know of all elements, on the engine of tiles.
#include <doctest/doctest.h>

#include <set>

#include "tests/unit/execute/tiled_net.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// The tiles that run vertices of an op, and whether its results are those of the reference engine.
std::set<int32_t> tiles_of(const std::string& name, const std::function<Tensor*(Graph&)>& build, bool in_bits) {
  CAPTURE(name);
  std::set<int32_t> used;
  for (const int64_t tiles : {1, 3, 16}) {
    CAPTURE(tiles);
    Net net(build), other(build);
    const std::unique_ptr<ExecutionEngine> reference = find_engine("reference").make(other.task(tiles));
    const Array expected = other.run(*reference);
    TilesEngine engine(net.task(tiles));
    const Array found = net.run(engine);
    REQUIRE(found.spec() == expected.spec());
    if (in_bits)
      CHECK(identical(found, expected));
    else
      for (int64_t i = 0; i < found.size(); ++i)
        CHECK(found.number(i) == doctest::Approx(expected.number(i)).epsilon(1e-5));
    used.clear();
    for (const auto& [key, op] : engine.store().schedules())
      if (key[0] == reinterpret_cast<uintptr_t>(net.result->producer))
        for (const tiles::LoweredStep& step : op.steps)
          for (const tiles::PlacedPart& part : step.parts) used.insert(part.tile);
  }
  return used;
}

}  // namespace

TEST_CASE("losses, random numbers, scatters and transposed convolutions run on many tiles") {
  const auto labels = [](Graph& g, int64_t n) {
    Array a(DType::int32, {n});
    for (int64_t i = 0; i < n; ++i) a.mutable_data<int32_t>()[i] = static_cast<int32_t>((i * 7) % 5);
    return g.add_constant(std::move(a), "labels");
  };
  const auto probabilities = [](Graph& g, int64_t n) {
    return Ops(g)("softmax", {g.add_variable(drawn({n, 5}, 3), "x")}, {{"axis", int64_t{-1}}});
  };
  for (const char* reduction : {"mean", "sum", "none"})
    for (const int64_t rows : {12, 13})
      for (const bool ignores : {false, true}) {
        const Attr ignored = ignores ? Attr(std::vector<int64_t>{2}) : Attr();
        const auto of_logarithms = [&](Graph& g) {
          return Ops(g)("nll_loss", {Ops(g)("log", {probabilities(g, rows)}), labels(g, rows)},
                        {{"reduction", std::string(reduction)}, {"ignore_index", ignored}, {"log_prob", true}});
        };
        CHECK(tiles_of(std::string("nll_loss of logarithms ") + reduction, of_logarithms, false).size() > 1);
        const auto loss = [&](Graph& g) {
          return Ops(g)("nll_loss", {probabilities(g, rows), labels(g, rows)},
                        {{"reduction", std::string(reduction)}, {"ignore_index", ignored}});
        };
        CHECK(tiles_of(std::string("nll_loss ") + reduction, loss, false).size() > 1);
        const auto gradient = [&](Graph& g) {
          const bool each = std::string(reduction) == "none";
          return Ops(g)(
              "nll_grad",
              {g.add_variable(drawn(each ? Shape{rows} : Shape{}, 4), "g"), probabilities(g, rows), labels(g, rows)},
              {{"reduction", std::string(reduction)}, {"ignore_index", ignored}});
        };
        CHECK(tiles_of(std::string("nll_grad ") + reduction, gradient, false).size() > 1);
      }
  const auto seed = [](Graph& g) { return g.add_constant(Array::full_int(DType::uint32, {2}, 5), "seed"); };
  CHECK(tiles_of(
            "random_uniform",
            [&](Graph& g) {
              return Ops(g)("random_uniform", {seed(g)}, {{"shape", std::vector<int64_t>{40, 30}}});
            },
            true)
            .size() > 1);
  CHECK(tiles_of(
            "dropout",
            [&](Graph& g) {
              return Ops(g)("dropout", {g.add_variable(drawn({40, 30}, 6), "x"), seed(g)}, {{"p", 0.5}});
            },
            true)
            .size() > 1);
  for (const int64_t axis : {0, 1}) {
    const auto scatter = [&](Graph& g) {
      Array at(DType::int32, {4, 9});
      for (int64_t i = 0; i < at.size(); ++i)
        at.mutable_data<int32_t>()[i] = static_cast<int32_t>((i % 9 + i / 9 * 2) % 20);
      return Ops(g)("scatter",
                    {g.add_variable(drawn({20, 24}, 7), "t"), g.add_constant(std::move(at), "at"),
                     g.add_variable(drawn({4, 9}, 8), "values")},
                    {{"axis", axis}});
    };
    CHECK(tiles_of("scatter", scatter, true).size() > 1);
  }
  CHECK(tiles_of(
            "dynamic_update",
            [&](Graph& g) {
              return Ops(g)(
                  "dynamic_update",
                  {g.add_variable(drawn({20, 24}, 9), "t"), g.add_constant(Array::full_int(DType::int32, {1}, 3), "at"),
                   g.add_variable(drawn({5, 24}, 10), "update")},
                  {{"axes", std::vector<int64_t>{0}}, {"sizes", std::vector<int64_t>{5}}});
            },
            true)
            .size() > 1);
  for (const int64_t stride : {1, 2, 3})
    for (const int64_t padding : {0, 1})
      for (const int64_t more : {int64_t{0}, stride - 1}) {
        const auto transposed = [&](Graph& g) {
          return Ops(g)("conv_transpose",
                        {g.add_variable(drawn({2, 3, 7, 6}, 11), "x"), g.add_variable(drawn({3, 4, 3, 3}, 12), "w")},
                        {{"stride", std::vector<int64_t>{stride, stride}},
                         {"padding", std::vector<int64_t>{padding, padding, padding, padding}},
                         {"output_padding", std::vector<int64_t>{more, more}}});
        };
        CHECK(tiles_of("conv_transpose", transposed, false).size() > 1);
      }
}

TEST_CASE("a bias of a convolution is added once, however its sums are divided") {
  // Few results of many products, so that tiles share sums; many results; groups.
  const std::vector<std::pair<Shape, Shape>> operands = {
      {{1, 96, 3, 3}, {4, 96, 3, 3}}, {{2, 8, 12, 10}, {16, 8, 3, 3}}, {{2, 12, 8, 8}, {12, 1, 3, 3}}};
  for (const auto& [x, w] : operands) {
    const int64_t groups = x[1] / w[1];
    const auto forward = [&, &x = x, &w = w](Graph& g) {
      GraphOpBuilder at(g);
      const auto variable = [&](const Shape& shape, int seed, const char* name) {
        return at.of(g.add_variable(drawn(shape, seed), name));
      };
      OpArgs args;
      const OpRow& row = get_op("conv");
      args.values.resize(row.params.size());
      args.values[0] = variable(x, 21, "x"), args.values[1] = variable(w, 22, "w");
      args.values[param_index(row, "bias")] = variable({w[0]}, 23, "b");
      args.values[param_index(row, "groups")] = Attr(groups);
      return at.emit(row, std::move(args)).at(0).tensor();
    };
    CHECK(tiles_of("conv", forward, false).size() > 1);
  }
}
