// Updates in the registers of the product that gives their gradient: the bits of the gradient, stored, and then the
// update; the input's gradient sees the weights as they were.
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/gemm/skinny.hpp"
#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// The register that the weights are: the last state.
size_t weights_of(const CompiledUpdate& update) {
  int last = 0;
  for (const UpdateLink& link : update.steps)
    if (link.result != CompiledUpdates::t) last = std::max<int>(last, link.result);
  return static_cast<size_t>(last);
}
/// Different for each place, positive where they are under a root.
FusedUpdateConstants constants_of(int row) {
  FusedUpdateConstants constants{};
  for (size_t i = 0; i < constants.size(); ++i) constants[i] = 0.3F + 0.07F * static_cast<float>(i + row);
  return constants;
}

/// x[m, k], dy[m, n] and the registers of an update [k, n], none of them negative where roots are drawn.
struct Operands {
  int64_t m, n, k;
  Array x, dy, dx;
  std::vector<Array> registers;
  Operands(int64_t rows, int64_t columns, int64_t depth)
      : m(rows),
        n(columns),
        k(depth),
        x(ramp(DType::float32, {m, k}, 1)),
        dy(ramp(DType::float32, {m, n}, 2)),
        dx(Array::zeros(DType::float32, {m, k})) {
    for (int r = 0; r < 4; ++r) {
      registers.push_back(ramp(DType::float32, {k, n}, 3 + r));
      float* values = registers.back().mutable_data<float>();
      for (int64_t i = 0; i < k * n; ++i) values[i] = std::fabs(values[i]);
    }
  }
  SkinnyBackward backward() {
    SkinnyBackward f;
    f.x = x.data<float>();
    f.ldx = k;
    f.dy = dy.data<float>();
    f.lddy = n;
    f.m = m;
    f.n = n;
    f.k1 = k;
    return f;
  }
  std::array<float*, max_registers> pointers() {
    std::array<float*, max_registers> to{};
    for (size_t r = 0; r < registers.size(); ++r) to[r] = registers[r].mutable_data<float>();
    return to;
  }
};

}  // namespace

TEST_CASE("compiled updates have the same bits in a product's registers as after it") {
  for (int row = 0; row < CompiledUpdates::count; ++row)
    for (int64_t m : {1, 5, 8, 9, 16})
      for (int64_t n : {3, 10, 16, 20, 32, 33, 48, 100})
        for (int64_t k : {1, 7, 24})
          for (bool input_gradient : {false, true}) {
            CAPTURE(CompiledUpdates::rows[row].name);
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            CAPTURE(input_gradient);
            const FusedUpdateConstants constants = constants_of(row);
            const size_t weights = weights_of(CompiledUpdates::rows[row]);
            Operands expected(m, n, k), given(m, n, k);
            const auto want = [&](Operands& o, SkinnyBackward& f) {
              if (!input_gradient) return;
              f.w = o.registers[weights].data<float>();
              f.ldw = n;
              f.dx = o.dx.mutable_data<float>();
              f.lddx = k;
            };

            auto to = expected.pointers();
            SkinnyBackward stored = expected.backward();
            want(expected, stored);
            stored.u = to[0];
            stored.ldu = n;
            skinny().backward(stored);
            bulk().updates.compiled[row](to.data(), constants.data(), k * n);

            to = given.pointers();
            SkinnyBackward fused = given.backward();
            want(given, fused);
            fused.update = {row, to.data(), constants.data()};
            skinny().backward(fused);

            for (size_t r = 1; r <= weights; ++r) CHECK(identical(given.registers[r], expected.registers[r]));
            CHECK(identical(given.dx, expected.dx));
          }
}
