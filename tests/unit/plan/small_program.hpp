// A program of a few ops, run and planned with and without some of the plan's passes.
#pragma once

#include "runtime/execute/session.hpp"
#include "runtime/plan/plan.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

namespace pxl::test {

struct SmallProgram {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  Ops op{ir->main()};
  std::vector<Stream*> out;
  std::vector<Tensor*> variables;

  /// A variable of values between `from` and `from` + 0.6.
  Tensor* variable(Shape shape, float from) {
    Array a(DType::float32, std::move(shape));
    float* to = a.mutable_data<float>();
    for (int64_t i = 0; i < a.size(); ++i) to[i] = from + 0.01F * static_cast<float>(i * 7 % 61);
    variables.push_back(ir->main().add_variable(std::move(a), "v"));
    return variables.back();
  }
  void give(Tensor* t) { out.push_back(&store(*ir, t)); }
  std::string plan(const PlanOptions& options = {}) const { return print_plan(Planner(options).plan(ir->main())); }
  int64_t arena(const PlanOptions& options) const { return Planner(options).plan(ir->main()).arena_bytes; }
  /// The results of one run; `passes` has the form of PXL_TRANSFORMS.
  std::vector<Array> results(const char* passes) const {
    setenv("PXL_TRANSFORMS", passes, 1);
    Session s(ir, "cpu");
    unsetenv("PXL_TRANSFORMS");
    const auto outputs = s.run({});
    std::vector<Array> all;
    for (Stream* stream : out) all.push_back(outputs.at(stream));
    return all;
  }
  void check_same_bits(const char* without) const {
    REQUIRE(!out.empty());
    const auto with = results("");
    for (const char* passes : {without, "-fuse_elementwise"}) {
      const auto other = results(passes);
      for (size_t i = 0; i < with.size(); ++i) CHECK(identical(with[i], other[i]));
    }
  }
};

}  // namespace pxl::test
