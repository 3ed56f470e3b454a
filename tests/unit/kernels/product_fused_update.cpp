// Updates in the registers of the product that gives their gradient: the bits of the gradient, stored, and then the
// update; the input's gradient sees the weights as they were.
#include "runtime/kernels/block.hpp"
#include "runtime/kernels/skinny.hpp"
#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct ChainCase {
  FusedUpdateKind kind;
  void (*FusedUpdateKernels::*run)(float* const*, const float*, int64_t);
  size_t weights;  ///< the register that the weights are
};
constexpr ChainCase chains[] = {{FusedUpdateKind::adam, &FusedUpdateKernels::adam, 3},
                                {FusedUpdateKind::adam_decay, &FusedUpdateKernels::adam_decay, 3},
                                {FusedUpdateKind::momentum, &FusedUpdateKernels::momentum, 2}};
constexpr FusedUpdateConstants adam_constants = {0.9F, 0.1F, 0,    0,     0.999F, 0.001F, 0,
                                                 0,    1.3F, 1.1F, 1e-5F, 0.01F,  1,      -0.05F};
constexpr FusedUpdateConstants momentum_constants = {0.5F, 0, 0, 0, 0.9F, 1, 0, 0, 1, -0.05F};

/// x[m, k], dy[m, n] and the registers of a chain [k, n], none of them negative where roots are drawn.
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

TEST_CASE("chains of updates have the same bits in a product's registers as behind it") {
  for (const ChainCase& chain : chains)
    for (int64_t m : {1, 5, 8, 9, 16})
      for (int64_t n : {3, 10, 16, 20, 32, 33, 48, 100})
        for (int64_t k : {1, 7, 24})
          for (bool input_gradient : {false, true}) {
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            CAPTURE(input_gradient);
            const auto& constants = chain.kind == FusedUpdateKind::momentum ? momentum_constants : adam_constants;
            Operands expected(m, n, k), given(m, n, k);
            const auto want = [&](Operands& o, SkinnyBackward& f) {
              if (!input_gradient) return;
              f.w = o.registers[chain.weights].data<float>();
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
            (bulk().updates.*chain.run)(to.data(), constants.data(), k * n);

            to = given.pointers();
            SkinnyBackward chained = given.backward();
            want(given, chained);
            chained.update = {chain.kind, to.data(), constants.data()};
            skinny().backward(chained);

            for (size_t r = 1; r <= chain.weights; ++r) CHECK(identical(given.registers[r], expected.registers[r]));
            CHECK(identical(given.dx, expected.dx));
          }
}
