// Sessions: state, streams, errors, undo.
#include "runtime/execute/session.hpp"

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/execute/evaluate.hpp"
#include "runtime/execute/streams.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// w += x, y = w * 2, with x loaded `loads` times.
struct Accumulator {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  Stream* x = nullptr;
  Stream* y = nullptr;
  Tensor* w = nullptr;

  explicit Accumulator(int loads = 1, const Shape& shape = {2}) {
    Graph& g = ir->main();
    InSequence order(g, InSequence::Mode::yes);
    Ops op(g);
    x = &ir->add_stream({shape, DType::float32, {}}, "x", true);
    y = &ir->add_stream({shape, DType::float32, {}}, "y", false);
    w = g.add_variable(Array::zeros(DType::float32, shape), "w");
    for (int i = 0; i < loads; ++i) {
      Tensor* in = g.add_host_load(*x, "x")->outputs[0];
      Tensor* updated = op("add_", {w, in});
      g.add_host_store(*y, op("mul", {updated, op.constant(Array::scalar(2.0F))}));
    }
  }
};

}  // namespace

TEST_CASE("variables keep their state between runs") {
  Accumulator p;
  Session s(p.ir, "cpu");
  CHECK(identical(s.get_tensor_data(p.w), floats({2}, {0, 0})));
  auto out = s.run({{p.x, floats({2}, {1, 2})}});
  CHECK(identical(out.at(p.y), floats({2}, {2, 4})));
  out = s.run({{p.x, floats({2}, {1, 2})}});
  CHECK(identical(out.at(p.y), floats({2}, {4, 8})));
  CHECK(identical(s.get_tensor_data(p.w), floats({2}, {2, 4})));
  CHECK(identical(p.w->data, floats({2}, {0, 0})));
  s.write_variable_data(p.w, floats({2}, {10, 10}));
  s.run({{p.x, floats({2}, {1, 2})}});
  CHECK(identical(s.get_tensor_data(p.w), floats({2}, {11, 12})));
  CHECK(s.memory().variables == 8);
  CHECK(p.ir->frozen);
}

TEST_CASE("a stream loaded several times consumes slices in order") {
  Accumulator p(3);
  Session s(p.ir, "ipu_model");
  CHECK(s.num_host_transfers() == 3);
  CHECK(s.transfers(p.x) == 3);
  auto out = s.run({{p.x, floats({3, 2}, {1, 2, 10, 20, 100, 200})}});
  CHECK(identical(out.at(p.y), floats({3, 2}, {2, 4, 22, 44, 222, 444})));
  out = s.run({{p.x, floats({6}, {0, 0, 0, 0, 1, 1})}});  // folded over the first axis
  CHECK(identical(s.get_tensor_data(p.w), floats({2}, {112, 223})));
  out = s.run({{p.x, floats({3, 1, 2}, {0, 0, 0, 0, 1, 1})}});  // with the replica axis
  CHECK(identical(s.get_tensor_data(p.w), floats({2}, {113, 224})));
  const std::string e = error_of([&] { s.run({{p.x, floats({2}, {1, 2})}}); });
  CHECK_CONTAINS(e, "stream `x`: expected float32[3, 2] or [6], got float32[2]");
  CHECK_CONTAINS(e, "3 times");
}

TEST_CASE("a sample that kernels read where the host has it stays as it is, and each run reads its own") {
  for (bool changed : {false, true}) {
    auto ir = std::make_shared<Ir>();
    Graph& g = ir->main();
    InSequence order(g, InSequence::Mode::yes);
    Ops op(g);
    Stream& x = ir->add_stream({{3}, DType::float32, {}}, "x", true);
    Stream& y = ir->add_stream({{3}, DType::float32, {}}, "y", false);
    Tensor* in = g.add_host_load(x, "x")->outputs[0];
    if (changed) op("add_", {in, in});
    Tensor* square = op("mul", {in, in});
    g.add_host_store(y, op("add", {square, in}));
    Session s(ir, "cpu");
    const Array first_given = floats({3}, {1, 2, 3}), second_given = floats({3}, {-1, 0, 4});
    const auto first_out = s.run({{&x, first_given}}), second_out = s.run({{&x, second_given}});
    CHECK(identical(first_out.at(&y), changed ? floats({3}, {6, 20, 42}) : floats({3}, {2, 6, 12})));
    CHECK(identical(second_out.at(&y), changed ? floats({3}, {2, 0, 72}) : floats({3}, {0, 0, 20})));
    CHECK(identical(first_given, floats({3}, {1, 2, 3})));
    CHECK(identical(second_given, floats({3}, {-1, 0, 4})));
  }
}

TEST_CASE("results that kernels write where the host gets them: read later, changed later, stored twice") {
  enum class Then : uint8_t { nothing, read, changed, stored };
  for (const Then then : {Then::nothing, Then::read, Then::changed, Then::stored}) {
    CAPTURE(static_cast<int>(then));
    auto ir = std::make_shared<Ir>();
    Graph& g = ir->main();
    InSequence order(g, InSequence::Mode::yes);
    Ops op(g);
    Stream& x = ir->add_stream({{3}, DType::float32, {}}, "x", true);
    Stream& y = ir->add_stream({{3}, DType::float32, {}}, "y", false);
    Stream& z = ir->add_stream({{3}, DType::float32, {}}, "z", false);
    Tensor* in = g.add_host_load(x, "x")->outputs[0];
    Tensor* square = op("mul", {in, in});
    g.add_host_store(y, square);
    if (then == Then::read) g.add_host_store(z, op("add", {square, in}));
    if (then == Then::changed) g.add_host_store(z, op("add_", {square, in}));
    if (then == Then::stored) g.add_host_store(z, square);
    Session s(ir, "cpu");
    const auto first_out = s.run({{&x, floats({3}, {1, 2, 3})}}), second_out = s.run({{&x, floats({3}, {-1, 0, 4})}});
    CHECK(identical(first_out.at(&y), floats({3}, {1, 4, 9})));
    CHECK(identical(second_out.at(&y), floats({3}, {1, 0, 16})));
    if (then == Then::nothing) continue;
    CHECK(identical(first_out.at(&z), then == Then::stored ? floats({3}, {1, 4, 9}) : floats({3}, {2, 6, 12})));
    CHECK(identical(second_out.at(&z), then == Then::stored ? floats({3}, {1, 0, 16}) : floats({3}, {0, 0, 20})));
  }
}

TEST_CASE("memory for a result may be that of an input") {
  auto ir = std::make_shared<Ir>();
  Graph& g = ir->main();
  InSequence order(g, InSequence::Mode::yes);
  Ops op(g);
  Stream& x = ir->add_stream({{2, 2}, DType::float32, {}}, "x", true);
  Stream& y = ir->add_stream({{2, 2}, DType::float32, {}}, "y", false);
  g.add_host_store(
      y, op("transpose", {g.add_host_load(x, "x")->outputs[0]}, {{"permutation", std::vector<int64_t>{1, 0}}}));
  Session s(ir, "cpu");
  alignas(8) float memory[] = {1, 2, 3, 4};
  const auto shared = [&] {
    return Array::wrap(DType::float32, {2, 2}, {reinterpret_cast<std::byte*>(memory), [](std::byte*) {}});
  };
  StreamData into;
  into.emplace(&y, shared());
  s.run({{&x, shared()}}, nullptr, std::move(into));
  CHECK(std::equal(memory, memory + 4, std::begin({1.0F, 3.0F, 2.0F, 4.0F})));
}

TEST_CASE("inputs are converted where that is safe") {
  Accumulator p;
  Session s(p.ir, "cpu");
  CHECK(first(s.run({{p.x, ints({2}, {3, 4})}}).at(p.y)) == 6.0F);
  CHECK(first(s.run({{p.x, Array::full(DType::float64, {2}, 1.0)}}).at(p.y)) == 8.0F);
  CHECK(first(s.run({{p.x, Array::full(DType::boolean, {2}, 1.0)}}).at(p.y)) == 10.0F);
  CHECK_CONTAINS(error_of([&] { s.run({{p.x, Array::full(DType::float64, {2}, 1e300)}}); }), "1e+300");

  CHECK(identical(convert_safely(Array::full_int(DType::int64, {1}, 7), DType::int32, "x"), ints({1}, {7})));
  CHECK_CONTAINS(
      error_of([] { convert_safely(Array::full_int(DType::int64, {1}, int64_t{1} << 40), DType::int32, "x"); }),
      "int32");
  CHECK_CONTAINS(error_of([] { convert_safely(ints({1}, {-1}), DType::uint8, "x"); }), "-1");
  CHECK_CONTAINS(error_of([] { convert_safely(floats({1}, {1}), DType::int32, "stream `i`"); }),
                 "stream `i`: expected int32, got float32");
  CHECK_CONTAINS(error_of([] { convert_safely(floats({1}, {70000}), DType::float16, "x"); }), "float16");
  CHECK_CONTAINS(error_of([] { convert_safely(ints({1}, {2}), DType::boolean, "x"); }), "2");
}

TEST_CASE("missing and unexpected streams are named together") {
  Accumulator p;
  Session s(p.ir, "cpu");
  Accumulator other;
  const std::string e = error_of([&] { s.run({{p.y, floats({2}, {1, 2})}, {other.x, floats({2}, {1, 2})}}); });
  CHECK_CONTAINS(e, "missing input `x` float32[2]; unexpected input `x`, `y`");
  CHECK_CONTAINS(e, "`y` is an output");
  CHECK_CONTAINS(e, "`x` is a stream of another program");
  CHECK(s.expected_inputs() == std::vector<const Stream*>{p.x});
  CHECK(s.outputs() == std::vector<const Stream*>{p.y});
}

TEST_CASE("sessions that cannot be made") {
  auto empty = std::make_shared<Ir>();
  CHECK_CONTAINS(error_of([&] { Session s(empty, "cpu"); }), "no op");
  Accumulator p;
  CHECK_CONTAINS(error_of([&] { Session s(p.ir, "ipu_modle"); }), "ipu_model");
  CHECK_FALSE(p.ir->frozen);
  p.ir->num_host_transfers = 4;
  CHECK_CONTAINS(error_of([&] { Session s(p.ir, "cpu"); }),
                 "the stream `x` is loaded once in a run, but num_host_transfers is 4");
}

TEST_CASE("attach nests; data of tensors") {
  Accumulator p;
  Session s(p.ir, "cpu");
  s.attach();
  s.attach();
  s.detach();
  CHECK(s.is_attached());
  s.detach();
  CHECK_FALSE(s.is_attached());
  CHECK_THROWS_AS(s.detach(), Error);
  const Tensor* constant = nullptr;
  const Tensor* result = nullptr;
  for (const auto& t : p.ir->main().tensors()) {
    if (t->kind == TensorKind::constant) constant = t.get();
    if (t->kind == TensorKind::result) result = t.get();
  }
  CHECK(first(s.get_tensor_data(constant)) == 2.0F);
  CHECK_CONTAINS(error_of([&] { s.get_tensor_data(result); }), "neither a variable nor a constant");
  CHECK_CONTAINS(error_of([&] { s.get_tensor_data(nullptr); }), "none");
  CHECK_CONTAINS(error_of([&] { s.write_variable_data(p.w, floats({3}, {1, 2, 3})); }), "float32[3]");
  CHECK_CONTAINS(error_of([&] { s.write_variable_data(constant, Array::scalar(1.0F)); }), "not a variable");
  Array got = s.get_tensor_data(p.w);
  got.mutable_data<float>()[0] = 99;
  CHECK(first(s.get_tensor_data(p.w)) == 0.0F);
}

TEST_CASE("a kernel that fails leaves the variables as they were") {
  auto ir = std::make_shared<Ir>();
  Graph& g = ir->main();
  Ops op(g);
  Stream& index = ir->add_stream({{1}, DType::int32, {}}, "index", true);
  Tensor* w = g.add_variable(counting({3}), "w");
  Tensor* table = g.add_variable(counting({3, 1}), "table");
  {
    InSequence order(g, InSequence::Mode::yes);
    Tensor* i = g.add_host_load(index, "index")->outputs[0];
    op("add_", {w, op.constant(floats({3}, {1, 1, 1}))});
    store(*ir, op("gather", {table, i}));
  }
  Session s(ir, "cpu");
  for (int run = 1; run <= 3; ++run) {
    s.run({{&index, ints({1}, {2})}});
    bool failed = false;
    try {
      s.run({{&index, ints({1}, {7})}});
    } catch (const Error& e) {
      failed = true;
      CHECK(e.first().fault == Fault::failed);
    }
    CHECK(failed);
    CHECK(first(s.get_tensor_data(w)) == static_cast<float>(run));
  }
}

TEST_CASE("a long run is interrupted within a tenth of a second and undone") {
  auto ir = std::make_shared<Ir>();
  Graph& body = ir->create_graph("step");
  Tensor* v = body.add_input({{16, 16}, DType::float32, {}}, "v", true);
  {
    Ops op(body);
    InSequence order(body, InSequence::Mode::yes);
    op("add_", {v, op("matmul", {op.constant(Array::full(DType::float32, {16, 16}, 1e-9)), v})});
  }
  Graph& g = ir->main();
  Tensor* w = g.add_variable(Array::full(DType::float32, {16, 16}, 1.0), "w");
  add_repeat(g, body, 100'000'000, {w});
  Session s(ir, "cpu");
  const Array before = s.get_tensor_data(w);
  for (int run = 0; run < 3; ++run) {
    std::atomic<std::clock_t> asked;
    std::thread ctrl_c([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      asked = std::clock();
      request_interrupt();
    });
    CHECK_THROWS_AS(s.run({}), Interrupted);
    CHECK(std::clock() - asked.load() < CLOCKS_PER_SEC / 5);  // of all threads: other programs take none of it
    ctrl_c.join();
    CHECK(identical(s.get_tensor_data(w), before));
  }
}

TEST_CASE("evaluate runs the ancestors of one tensor on copies") {
  Accumulator p;
  Graph& g = p.ir->main();
  Ops op(g);
  Tensor* v = g.add_variable(floats({2}, {1, 2}), "v");
  Tensor* y = op("add", {v, op.constant(floats({2}, {10, 10}))});
  CHECK(identical(evaluate(*y), floats({2}, {11, 12})));
  CHECK(identical(evaluate(*v), floats({2}, {1, 2})));
  Tensor *updated = nullptr, *after = nullptr;
  {
    InSequence order(g, InSequence::Mode::yes);
    updated = op("add_", {v, op.constant(floats({2}, {1, 1}))});
    after = op("mul", {v, op.constant(floats({2}, {2, 2}))});
  }
  CHECK(identical(evaluate(*updated), floats({2}, {2, 3})));
  CHECK(identical(evaluate(*after), floats({2}, {4, 6})));
  CHECK(identical(v->data, floats({2}, {1, 2})));
  CHECK_CONTAINS(error_of([&] { evaluate(*y); }), "Inplacing ambiguity detected");
  Tensor* loaded = op("mul", {op.constant(floats({2}, {2, 2})), g.add_host_load(*p.x, "x")->outputs[0]});
  CHECK_CONTAINS(error_of([&] { evaluate(*loaded); }), "depends on the stream `x`");
  Tensor *first_load = nullptr, *second_load = nullptr;
  {
    InSequence order(g, InSequence::Mode::yes);
    first_load = g.add_host_load(*p.x, "x")->outputs[0];
    second_load = g.add_host_load(*p.x, "x")->outputs[0];
  }
  const size_t ops = g.ops().size();
  Tensor* of_first = op("mul", {first_load, first_load});
  Tensor* of_second = op("mul", {second_load, second_load});
  CHECK(identical(evaluate(*of_first, {{p.x, floats({3, 2}, {1, 1, 1, 1, 2, 3})}}), floats({2}, {4, 9})));
  CHECK_CONTAINS(error_of([&] { evaluate(*of_second, {{p.x, floats({2}, {1, 2})}}); }), "expected float32[4, 2]");
  CHECK(identical(evaluate(*of_second, {{p.x, floats({4, 2}, {1, 1, 1, 1, 1, 1, 5, 6})}}), floats({2}, {25, 36})));
  CHECK(g.ops().size() == ops + 2);
  CHECK_CONTAINS(error_of([&] { evaluate(*p.x->handle); }), "stream `x`");
  Graph& sub = p.ir->create_graph("f");
  CHECK_CONTAINS(error_of([&] { evaluate(*sub.add_input({{2}, DType::float32, {}}, "a")); }), "no value");
}
