// Workspaces: arrays of a layout are apart from each other, and a kernel's from those of what runs within it.
#include "runtime/kernels/workspace.hpp"

#include "runtime/kernels/gemm/product.hpp"
#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("a layout places arrays one after the other, aligned") {
  WorkspaceLayout layout;
  const auto a = layout.per_thread<float>(17);
  const auto b = layout.per_call<double>(1);
  const auto none = layout.per_call<double>(0);
  const auto c = layout.per_thread<std::byte>(65);
  const auto d = layout.per_call<int64_t>(9);
  CHECK(a.offset == 0);
  CHECK(c.offset == 128);
  CHECK(layout.size().per_thread == 256);
  CHECK(b.offset == 0);
  CHECK(none.offset == 64);
  CHECK(d.offset == 64);
  CHECK(layout.size().per_call == 192);
  CHECK(layout.size().bytes(3) == 192 + 3 * 256);
  WorkspaceLayout outer(layout.size());
  CHECK(outer.per_call<float>(1).offset == 192);
  CHECK(outer.per_thread<float>(1).offset == 256);
  CHECK(interleaved({64, 128}, {192, 64}) == WorkspaceSize{256, 128});
}

TEST_CASE("a kernel that is given no workspace allocates one") {
  WorkspaceLayout layout;
  const auto values = layout.per_thread<int64_t>(1000);
  const auto sum = layout.per_call<int64_t>(1);
  const Kernel kernel = Kernel([=](const Buffers& b) {
                          for (int64_t i = 0; i < 1000; ++i) b.workspace(values)[i] = i;
                          *b.workspace(sum) = 0;
                          for (int64_t i = 0; i < 1000; ++i) *b.workspace(sum) += b.workspace(values)[i];
                          *b.output<int64_t>(0) = *b.workspace(sum);
                        }).with_workspace(layout);
  int64_t result = 0;
  std::byte* out[] = {reinterpret_cast<std::byte*>(&result)};
  kernel({nullptr, out});
  CHECK(result == 499500);
}

namespace {

/// An epilogue that writes all of its workspace at each call, and counts what it finds changed.
struct Tenant {
  WorkspaceLayout layout;
  PerCall<int64_t> kept = layout.per_call<int64_t>(40);
  PerThread<int64_t> own = layout.per_thread<int64_t>(600);

  void begin(const Buffers& b) const { std::fill_n(b.workspace(kept), 40, id); }
  void check(const Buffers& b, int64_t& changed) const {
    changed += 40 - std::count(b.workspace(kept), b.workspace(kept) + 40, id);
    std::fill_n(b.workspace(own), 600, id);
  }
  int64_t id = 0x0123456789ABCDEF;
};

}  // namespace

TEST_CASE("ops after a product share no memory with the product") {
  struct Case {
    int64_t m, n, k;
    bool ta, tb, half;
  };
  constexpr Case cases[] = {{8, 300, 500, false, false, false},  {3, 700, 90, false, true, false},
                            {200, 150, 7, true, false, false},   {40, 1100, 8, true, false, false},
                            {150, 170, 60, false, false, false}, {100, 90, 50, true, true, false},
                            {60, 70, 80, false, false, true},    {5, 200, 300, false, true, true}};
  for (const Case& c : cases)
    for (bool stored : {true, false})
      for (int chunks : {1, 3}) {
        CAPTURE(c.m);
        CAPTURE(c.n);
        CAPTURE(c.k);
        const DType dtype = c.half ? DType::float16 : DType::float32;
        const Array a = ramp(dtype, c.ta ? Shape{c.k, c.m} : Shape{c.m, c.k}, 1);
        const Array b = ramp(dtype, c.tb ? Shape{c.n, c.k} : Shape{c.k, c.n}, 2);
        const GemmShape shape = gemm_shape(a.shape(), c.ta, b.shape(), c.tb);
        ProductOptions options;
        options.dtype = dtype;
        const Array plain = run(product_kernel(shape, options), {a, b}, spec(dtype, {c.m, c.n}));
        const Tenant tenant;
        Array seen = Array::zeros(dtype, {c.m, c.n}), result = Array::zeros(dtype, {c.m, c.n});
        std::byte* to = seen.mutable_raw();
        const auto width = static_cast<int64_t>(size_of(dtype));
        int64_t changed = 0, longest = 0;
        options.out = stored ? 0 : -1;
        options.epilogue_workspace = tenant.layout.size();
        options.epilogue = [&](const Buffers& buffers, std::byte* values, int64_t begin, int64_t end) {
          tenant.check(buffers, changed);
          longest = std::max(longest, end - begin);
          std::copy_n(values, (end - begin) * width, to + begin * width);
        };
        const Kernel product = product_kernel(shape, options);
        std::vector<Phase> phases{{1, 1, [&](const Buffers& buffers, int64_t, int64_t) { tenant.begin(buffers); }}};
        phases.insert(phases.end(), product.phases().begin(), product.phases().end());
        const Kernel kernel = Kernel::parallel(phases, 0).with_workspace(WorkspaceLayout(product.workspace()));
        const std::byte* in[] = {a.raw(), b.raw()};
        std::byte* out[] = {result.mutable_raw()};
        run_in_pieces(kernel, {in, out}, chunks);
        CHECK(changed == 0);
        CHECK(longest <= epilogue_block);
        CHECK(identical(seen, plain));
        if (stored) CHECK(identical(result, plain));
      }
}

TEST_CASE("ops after a layer's two products share no memory with them, nor with each other") {
  const int64_t m = 6, n = 90, k = 130;
  const Array x = ramp(DType::float32, {m, k}, 1), w = ramp(DType::float32, {k, n}, 2),
              dy = ramp(DType::float32, {m, n}, 3);
  const Array dx =
      run(product_kernel(gemm_shape(dy.shape(), false, w.shape(), true), {}), {dy, w}, spec(DType::float32, {m, k}));
  const Array dw =
      run(product_kernel(gemm_shape(x.shape(), true, dy.shape(), false), {}), {x, dy}, spec(DType::float32, {k, n}));
  for (int chunks : {1, 4}) {
    Tenant first, second;
    second.id = -7;
    int64_t changed = 0;
    Array seen[] = {Array::zeros(DType::float32, {m, k}), Array::zeros(DType::float32, {k, n})};
    const auto epilogue = [&](const Tenant& tenant, Array& to) {
      return [&changed, &tenant, values = to.mutable_data<float>()](const Buffers& b, std::byte* from, int64_t begin,
                                                                    int64_t end) {
        tenant.check(b, changed);
        std::copy_n(reinterpret_cast<const float*>(from), end - begin, values + begin);
      };
    };
    GemmCall calls[2];
    calls[0].plan = gemm_shape(dy.shape(), false, w.shape(), true);
    calls[1].plan = gemm_shape(x.shape(), true, dy.shape(), false);
    for (size_t i : {size_t{0}, size_t{1}}) {
      const Tenant& tenant = i == 0 ? first : second;
      calls[i].options.out = -1;
      calls[i].options.epilogue = epilogue(tenant, seen[i]);
      calls[i].options.epilogue_workspace = tenant.layout.size();
    }
    REQUIRE(can_fuse_dgrad_wgrad(calls[0], calls[1]));
    const Kernel pair = dgrad_wgrad_kernel(calls[0], calls[1], 2, 0);
    std::vector<Phase> phases{{1, 1, [&](const Buffers& b, int64_t, int64_t) {
                                 first.begin(b);
                                 second.begin(b.after({first.layout.size().per_call, 0}));
                               }}};
    phases.insert(phases.end(), pair.phases().begin(), pair.phases().end());
    const std::byte* in[] = {dy.raw(), w.raw(), x.raw(), dy.raw()};
    std::byte* out[] = {nullptr};
    run_in_pieces(Kernel::parallel(phases, 0).with_workspace(WorkspaceLayout(pair.workspace())), {in, out}, chunks);
    CHECK(changed == 0);
    CHECK(identical(seen[0], dx));
    CHECK(identical(seen[1], dw));
  }
}
