// Programs that test the engine of tiles.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "runtime/execute/tiles/tiles_store.hpp"
#include "tests/unit/support/ops.hpp"

namespace pxl::test {

inline Array drawn(const Shape& shape, unsigned seed) {
  std::mt19937 rng(seed);
  Array a(DType::float32, shape);
  for (int64_t i = 0; i < a.size(); ++i)
    a.mutable_data<float>()[i] = static_cast<float>(static_cast<int>(rng() % 65) - 32) / 16;
  return a;
}

/// A program whose output is the last tensor that `build` makes.
struct Net {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  Stream* out = nullptr;
  const Tensor* result = nullptr;
  explicit Net(const std::function<Tensor*(Graph&)>& build) {
    Tensor* made = build(ir->main());
    result = made;
    out = &store(*ir, made);
  }

  EngineTask task(int64_t tiles, int64_t memory = 624 * 1024) {
    auto options = std::make_shared<tiles::EstimateOptions>();
    options->machine = tiles::parse_machine("mk2,tiles=" + std::to_string(tiles));
    options->machine.memory = memory;
    EngineTask t{.ir = *ir, .variable = {}};
    t.variable = [this](const Tensor* v) { return values.try_emplace(v, v->data.clone()).first->second.mutable_raw(); };
    t.machine = options;
    return t;
  }
  Array run(ExecutionEngine& engine) {
    Array result(out->spec().dtype, out->spec().shape);
    engine.ports()[0].next = result.mutable_raw();
    const std::function<bool()> commit = [] { return true; };
    engine.begin(commit);
    engine.advance();
    return result;
  }
  std::map<const Tensor*, Array> values;
};

}  // namespace pxl::test
