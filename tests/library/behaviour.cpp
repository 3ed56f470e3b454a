// The library's interface as its users see it, against the installed headers: prints a line for each failed check.
#include <pthread.h>
#include <pxl/pxl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdint>

#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <pxl/pxl.hpp>
#include <thread>
#include <tuple>
#if defined(__SSE__)
#include <immintrin.h>
#endif
#if __has_include(<xtensor/xtensor.hpp>)
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#endif

namespace {

int failures = 0;

#define CHECK(what)                                                   \
  do {                                                                \
    if (!(what)) {                                                    \
      std::cout << "line " << __LINE__ << ": " << #what << std::endl; \
      ++failures;                                                     \
    }                                                                 \
  } while (false)

const char* const counter = R"(
option step: int = 1
program count {
  stream in x: float32[3]
  variable total: float32[3] = 0
  stream out now = add_(total, host_load(x) * step)
}
program scaled(by: float) {
  stream in x: float32[3]
  stream out y = host_load(x) * by
}
def shrink(x) { return x @ x * 0.0001 }
program slow {
  variable x: float32[256, 256] = 1
  shrinking = ir.create_graph(shrink, x)
  stream out z = repeat(shrinking, 1000000, x)
}
def twice(x) { return x * 2 }
)";

pxl::Program program(std::map<std::string, std::string> options = {}) {
  return pxl::Program::from_text(counter, {.options = std::move(options)}, "counter.pxl").value();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

void runs() {
  pxl::Program p = program({{"step", "2"}});
  CHECK(p.programs().value() == (std::vector<std::string>{"count", "scaled", "slow"}));
  pxl::Session s = p.session("count").value();
  CHECK(s.inputs().size() == 1 && s.inputs()[0].name == "x" && s.inputs()[0].shape == pxl::Shape{3});
  CHECK(s.outputs().size() == 1 && s.variables().size() == 1 && s.variables()[0].name == "total");
  const std::vector<float> x = {1, 2, 3};
  const pxl::Outputs out = s.run({{"x", x}}).value();
  CHECK(out["now"].values<float>()[2] == 6);
  // Into the caller's memory; other dtypes are converted where nothing is lost.
  std::vector<float> now(3);
  CHECK(s.run({{"x", std::vector<int32_t>{1, 2, 3}}}, {{"now", now}}).ok());
  CHECK(now[2] == 12);
  // bfloat16 is the upper half of float32.
  const std::vector<uint16_t> halves = {0x3f80, 0x4000, 0x4040};
  CHECK(s.run({{"x", pxl::View(pxl::DType::bfloat16, {3}, halves.data())}}, {{"now", now}}).ok() && now[2] == 18);
  // Not aligned for its type.
  std::vector<char> bytes(13);
  std::memcpy(bytes.data() + 1, x.data(), 12);
  CHECK(s.run({{"x", pxl::View(pxl::DType::float32, {3}, bytes.data() + 1)}}, {{"now", now}}).ok() && now[2] == 24);
  CHECK(p.session("scaled", {.arguments = {{"by", 3.0}}}).value().run({{"x", x}}).value()["y"].values<float>()[0] == 3);
  CHECK(p.session("scaled(by = 4.0)").value().run({{"x", x}}).value()["y"].values<float>()[0] == 4);
  for (const pxl::EngineInfo& engine : pxl::engines()) {
    pxl::Session on = p.session("count", {.engine = std::string(engine.name)}).value();
    CHECK(on.engine() == engine.name && on.run({{"x", x}}).value()["now"].values<float>()[1] == 4);
  }
  const std::string report = s.report().value();
  CHECK(has(report, "\"memory\"") && has(report, "\"ipu\""));
}

#if __has_include(<xtensor/xtensor.hpp>)
void arrays_of_xtensor() {
  pxl::Program p = program();
  pxl::Session s = p.session("count").value();
  xt::xtensor<float, 1> x = {1, 2, 3}, now = {0, 0, 0};
  CHECK(s.run({{"x", x}}, {{"now", now}}).ok() && now(2) == 3);
  xt::xarray<double> matrix = {{1, 2}, {3, 4}};
  CHECK(pxl::View(matrix).shape == (pxl::Shape{2, 2}) && pxl::View(matrix).data == matrix.data());
}
#else
void arrays_of_xtensor() {}
#endif

/// A bool may come as any byte; results may be written to memory that holds anything.
void bytes_of_bools() {
  pxl::Program p = pxl::Program::from_text(R"(
program flags {
  stream in x: bool[3]
  flags = host_load(x)
  stream out y = cast(flags, int32)
  stream out z = ~flags
})")
                       .value();
  pxl::Session s = p.session("flags").value();
  const std::vector<uint8_t> bytes = {0, 1, 255};
  std::vector<uint8_t> into = {7, 200, 3};
  const pxl::View x(pxl::DType::boolean, {3}, bytes.data());
  const pxl::Outputs out = s.run({{"x", x}}).value();
  CHECK(out["y"].values<int32_t>()[1] == 1 && out["y"].values<int32_t>()[2] == 1);
  CHECK(s.run({{"x", x}}, {{"z", pxl::MutableView(pxl::DType::boolean, {3}, into.data())}}).ok());
  CHECK(into == (std::vector<uint8_t>{1, 0, 0}));
}

void variables() {
  pxl::Program p = program();
  pxl::Session s = p.session("count").value(), other = p.session("count").value();
  CHECK(s.write("total", std::vector<float>{1, 2, 3}).ok());
  pxl::Array total = s.read("total").value();
  CHECK(total.values<float>()[1] == 2 && total.values<double>().empty());
  static_cast<float*>(total.mutable_data())[1] = 9;
  CHECK(s.read("total").value().values<float>()[1] == 2);
  const std::string path = "state.safetensors";
  CHECK(s.save(path).ok() && other.restore(path).value().loaded == std::vector<std::string>{"total"});
  CHECK(other.read("total").value().values<float>()[2] == 3);
  CHECK(other.write("total", std::vector<float>{0, 0, 0}).ok() && other.load_from(s).ok());
  CHECK(other.read("total").value().values<float>()[2] == 3);
  CHECK(!s.write("total", std::vector<float>{1, 2}).ok() && s.read("total").value().values<float>()[0] == 1);
  CHECK(!s.save("state.txt").ok() && !s.restore("none.safetensors").ok());
}

void shared_variables() {
  pxl::Program p = pxl::Program::from_text(R"(
from nn import Linear
program train {
  stream in x: float32[2, 2]
  net = Linear(1).bound(x, training = true)
  with in_sequence() {
    stream out y = net(host_load(x))
    for v in net.vars.tensors { add_(v, 1.0) }
  }
}
program evaluate(trained, batch: size = 1) {
  stream in x: float32[batch, 2]
  net = Linear(1).bound(x, vars = trained)
  stream out y = net(host_load(x))
}
)")
                       .value();
  pxl::Session training = p.session("train").value();
  CHECK(!p.session("evaluate(train().net)").ok());
  pxl::SessionOptions options;
  options.variables = &training;
  pxl::Session evaluation = p.session("evaluate(variables.ir.net)", options).value();
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  for (int i = 0; i < 2; ++i) {
    CHECK(training.run({{"x", pxl::View(pxl::DType::float32, {2, 2}, x.data())}}).ok());
    const pxl::Array y = evaluation.run({{"x", pxl::View(pxl::DType::float32, {3, 2}, x.data())}}).value()["y"];
    CHECK((y.shape() == pxl::Shape{3, 1}));
    const pxl::Value given = pxl::Array::copy(pxl::View(pxl::DType::float32, {3, 2}, x.data())).value();
    const pxl::Value called = training.call("net", std::span(&given, 1)).value();
    CHECK(called.as<pxl::Array>()->values<float>()[2] == y.values<float>()[2]);
  }
}

void errors() {
  const auto wrong = pxl::Program::from_text("a = 1\nb = a + mising\n", {}, "wrong.pxl");
  CHECK(!wrong.ok());
  const pxl::Error& e = wrong.error();
  CHECK(e.failure == pxl::Failure::refused && e.first().kind == "unknown-name");
  CHECK(e.first().place.file == "wrong.pxl" && e.first().place.line == 2 && e.first().place.column == 9);
  CHECK(has(e.text(), "wrong.pxl:2:9: error: ") && has(e.text(), "^"));
  CHECK(pxl::Program::load("none.pxl").error().failure == pxl::Failure::unreadable);
  auto own = pxl::Program::from_text("def check(n) { fail('no rows', kind = 'bad-row', data = n) }", {}, "own.pxl");
  const pxl::Error failed = own.value().call("check", std::vector<pxl::Value>{7}, {}).error();
  CHECK(failed.first().kind == "bad-row" && failed.message() == "no rows" && failed.first().place.line == 1);
  CHECK(failed.first().data && *failed.first().data->as<int64_t>() == 7 && !e.first().data);
  auto logs = pxl::Program::from_text(
      "program p {\n  stream in x: float32[1]\n  variable w: float32[1] = 1\n  scaled_add_(w, log(host_load(x)), b = "
      "1)\n}");
  pxl::Session finite = logs.value().session("p").value();
  const std::vector<float> below{-1};
  CHECK(finite.run({{"x", below}}, {.finite = true}).error().first().kind == "not-finite");
  CHECK(finite.read("w").value().values<float>()[0] == 1);
  const auto option = pxl::Program::from_text(counter, {.options = {{"stepp", "1"}}});
  CHECK(!option.ok() && option.error().failure == pxl::Failure::usage && has(option.error().text(), "step"));
  CHECK(pxl::Program::from_text("exit(3)").error().exit_status == 3);
  pxl::Program p = program();
  CHECK(has(p.session("cuont").error().text(), "count"));
  CHECK(p.session("count", {.engine = "plannd"}).error().first().message.find("plannd") != std::string::npos);
  pxl::Session s = p.session("count").value();
  CHECK(has(s.run().error().message(), "missing input"));
  CHECK(has(s.run({{"y", std::vector<float>(3)}}).error().message(), "no input stream `y`"));
  CHECK(has(s.run({{"x", std::vector<float>(4)}}).error().message(), "expected float32[3], got float32[4]"));
  CHECK(has(s.run({{"x", pxl::View(pxl::DType::float32, {3}, nullptr)}}).error().message(), "no memory"));
  const float three[] = {1, 2, 3};
  CHECK(has(s.run({{"x", pxl::View(static_cast<pxl::DType>(200), {3}, three)}}).error().message(), "no valid dtype"));
  std::vector<float> short_memory(2);
  CHECK(has(s.run({{"x", std::vector<float>(3)}}, {{"now", short_memory}}).error().message(),
            "its results are float32[3]"));
  CHECK(has(s.run({{"x", std::vector<float>(3)}}, {{"noww", short_memory}}).error().message(), "no output stream"));
  CHECK(has(s.read("totl").error().message(), "did you mean `total`?"));
  bool thrown = false;
  try {
    static_cast<void>(s.read("totl").value());
  } catch (const pxl::BadResult& bad) {
    thrown = has(bad.what(), "totl");
  }
  CHECK(thrown);
  // A callback must not call the program that prints: an error, no deadlock.
  std::string inner;
  pxl::Program* printing = nullptr;
  pxl::LoadOptions options;
  options.out = [&](std::string_view) {
    if (printing) inner = printing->eval("1").error().message();
  };
  pxl::Program q = pxl::Program::from_text("def f() { print(1) }", options).value();
  printing = &q;
  CHECK(q.call("f").ok() && has(inner, "in use by the call"));
}

void values() {
  pxl::Program p = program();
  std::vector<float> memory = {1, 2, 3};
  const pxl::Array x = pxl::Array::wrap(memory, nullptr).value();
  CHECK(x.data() == memory.data());
  CHECK(p.call("twice", std::vector<pxl::Value>{x}).value().as<pxl::Array>()->values<float>()[2] == 6);
  CHECK(*p.call("twice", std::vector<pxl::Value>{int64_t{4}}).value().as<int64_t>() == 8);
  const std::vector<pxl::Argument> names = {{"x", x}};
  CHECK(p.eval("x[0] = 7\ny = x\ny", names).value().as<pxl::Array>()->values<float>()[0] == 7);
  CHECK(memory[0] == 1);
  CHECK(pxl::eval("x[0] = 7\nx.sum()", names).value().as<pxl::Array>()->item() == 12);
  CHECK(memory[0] == 1);
  pxl::Array shared = *p.eval("y").value().as<pxl::Array>();
  static_cast<float*>(shared.mutable_data())[0] = 5;
  CHECK(p.eval("y").value().as<pxl::Array>()->values<float>()[0] == 7);
  const pxl::Value nested = pxl::eval("{\"a\": [1, 2.5, true, none, \"t\"], 2: (float32, print)}").value();
  const pxl::Dict& dict = *nested.as<pxl::Dict>();
  CHECK(dict.size() == 2 && *dict[0].first.as<std::string>() == "a");
  CHECK(*(*dict[0].second.as<pxl::List>())[1].as<double>() == 2.5);
  CHECK(*dict[1].second.as<pxl::Tuple>()->items[0].as<pxl::DType>() == pxl::DType::float32);
  CHECK(dict[1].second.as<pxl::Tuple>()->items[1].as<pxl::Opaque>()->type == "function");
  CHECK(pxl::eval("v = variable([1.0, 2.0], name = \"v\")\nv * 3").value().as<pxl::Array>()->values<float>()[1] == 6);
  CHECK(!pxl::eval("a = []\nfor i in range(300) { a = [a] }\na").ok());
}

void cancels() {
  pxl::Program p = program();
  pxl::Session s = p.session("slow").value(), quick = p.session("count").value();
  const auto began = std::chrono::steady_clock::now();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    // Another session runs while this one does, and hears nothing of the request.
    CHECK(quick.run({{"x", std::vector<float>(3)}}).ok());
    s.cancel();
  });
  const auto out = s.run();
  other.join();
  CHECK(!out.ok() && out.error().failure == pxl::Failure::cancelled);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(60));
  CHECK(quick.run({{"x", std::vector<float>(3)}}).ok());
  // A request that comes early ends the next call.
  quick.cancel();
  CHECK(!quick.run({{"x", std::vector<float>(3)}}).ok() && quick.run({{"x", std::vector<float>(3)}}).ok());
  pxl::LoadOptions options;
  options.cancel.request();
  CHECK(pxl::Program::from_text("while true { }", options).error().failure == pxl::Failure::cancelled);
}

/// The host's rounding, traps and flags change no result, and are as they were afterwards.
void float_environments() {
  const char* text = R"(
program p {
  stream in x: float32[1000]
  v = host_load(x)
  stream out y = exp(v) / 3 + sqrt(v)
  stream out small = v * 1e-38
}
def host() { return 0.1 + 0.2 + exp(1.5) / 3 + float("0.1") }
)";
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 700;
  const auto results = [&] {
    std::vector<float> all;
    std::string shown;
    pxl::LoadOptions options;
    options.out = [&](std::string_view part) { shown += part; };
    pxl::Program p = pxl::Program::from_text(std::string(text) + "print(1 / 3, 1e-310, 2.5e-5)", options).value();
    for (const char* engine : {"planned", "reference", "tiles"}) {
      const pxl::Outputs out = p.session("p", {.engine = engine}).value().run({{"x", x}}).value();
      for (const char* name : {"y", "small"}) {
        const auto values = out[name].values<float>();
        all.insert(all.end(), values.begin(), values.end());
      }
    }
    return std::tuple(all, *p.call("host").value().as<double>(), shown);
  };
  const auto expected = results();
  std::fenv_t usual;
  std::fegetenv(&usual);
  for (const int rounding : {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST})
    for (const int traps : {0, FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT}) {
      std::feclearexcept(FE_ALL_EXCEPT);
      std::fesetround(rounding);
      if (traps == 0) std::feraiseexcept(FE_OVERFLOW);
      feenableexcept(traps);
      const int enabled = fegetexcept();  // some processors have no traps
      const auto found = results();
      const int kept_rounding = std::fegetround(), kept_traps = fegetexcept(), flags = std::fetestexcept(FE_ALL_EXCEPT);
      std::fesetenv(&usual);
      CHECK(found == expected);
      CHECK(kept_rounding == rounding && kept_traps == enabled);
      CHECK((flags & FE_OVERFLOW) == (traps == 0 ? FE_OVERFLOW : 0) && !(flags & FE_DIVBYZERO));
    }
#if defined(__SSE__)
  for (const unsigned flush : {0x8000u, 0x0040u, 0x8040u}) {  // results, operands, both
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | flush);
    const auto found = results();
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    CHECK(found == expected);
    CHECK(after == (before | flush));
  }
#endif
}

const pxl::Session* signalled = nullptr;

/// A handler may interrupt a run anywhere, in compiled code of matrix products too.
void signals() {
  pxl::Program p = program();
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { signalled->cancellation().request(); };
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGINT, &action, &before);
  for (int i = 0; i < 5; ++i) {
    pxl::Session s = p.session("slow").value();
    signalled = &s;
    const pthread_t caller = pthread_self();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
      pthread_kill(caller, SIGINT);
    });
    CHECK(s.run().error().failure == pxl::Failure::cancelled);
    other.join();
  }
  sigaction(SIGINT, &before, nullptr);
}

/// Threads that run in a loop compute the same results as one thread.
void threads() {
  const char* text = R"(
random_seed(1)
program train {
  w = variable(normal(0, 0.1, [128, 128]), name = "w")
  stream in x: float32[64, 128]
  rows = host_load(x)
  y = rows @ w
  scaled_add_(w, rows.T @ y, b = -0.0001)
  stream out loss = mean(y * y)
})";
  std::vector<float> x(64 * 128);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 17;
  const auto train = [&](pxl::Session& s) {
    std::vector<float> loss(1);
    for (int i = 0; i < 200; ++i) s.run({{"x", {x, {64, 128}}}}, {{"loss", {loss, {}}}}).value();
    return s.read("w").value();
  };
  pxl::Program p = pxl::Program::from_text(text).value();
  pxl::Session alone = p.session("train").value();
  const pxl::Array first = alone.read("w").value();
  const pxl::Array expected = train(alone);
  std::vector<pxl::Session> sessions;
  std::vector<pxl::Array> results(4);
  for (int i = 0; i < 4; ++i) {
    sessions.push_back(p.session("train").value());
    CHECK(sessions.back().write("w", first.view()).ok());
  }
  std::vector<std::thread> running;
  for (size_t i = 0; i < 4; ++i) running.emplace_back([&, i] { results[i] = train(sessions[i]); });
  // Meanwhile the interpreter works too, and one session is used by two threads in turns.
  for (int i = 0; i < 20; ++i) CHECK(*p.eval("1 + 1").value().as<int64_t>() == 2);
  for (std::thread& t : running) t.join();
  for (const pxl::Array& r : results)
    CHECK(std::memcmp(r.data(), expected.data(), sizeof(float) * static_cast<size_t>(r.size())) == 0);
}

void forks() {
  pxl::Program p = program();
  pxl::Session s = p.session("count").value(), busy = p.session("slow").value();
  const std::vector<float> x = {1, 2, 3};
  CHECK(s.run({{"x", x}}).ok());
  std::thread other([&] { static_cast<void>(busy.run()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool good = s.run({{"x", x}}).ok() && pxl::eval("ones([300, 300]) @ ones([300, 300])").ok();
    // A session that another thread was using is refused, not waited for.
    const auto refused = busy.run();
    good = good && !refused.ok() && has(refused.error().message(), "forked off");
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  busy.cancel();
  other.join();
}

void plain_c() {
  pxl_program* p = nullptr;
  pxl_error* e = pxl_load_text("x = \n", nullptr, 0, &p);
  CHECK(e && !p && pxl_error_line(e) >= 1 && has(pxl_error_text(e), "^") && !pxl_error_is_cancelled(e));
  pxl_error_free(e);
  e = pxl_load_text(nullptr, nullptr, 0, &p);
  CHECK(e && std::string(pxl_error_kind(e)) == "usage");
  pxl_error_free(e);
  const pxl_option option = {"step", "5"};
  CHECK(!pxl_load_text(counter, &option, 1, &p));
  pxl_session* s = nullptr;
  CHECK(!pxl_session_create(p, "count", "reference", &s) && pxl_num_inputs(s) == 1 && pxl_num_outputs(s) == 1);
  CHECK(std::string(pxl_variable(s, 0).name) == "total" && pxl_variable(s, 0).shape[0] == 3);
  const int64_t three = 3;
  float x[3] = {1, 2, 3}, y[3];
  const pxl_array in = {"x", PXL_FLOAT32, 1, &three, x}, total = {"total", PXL_FLOAT32, 1, &three, y};
  CHECK(!pxl_run(s, &in, 1, nullptr, 0) && !pxl_read(s, &total, 1) && y[2] == 15);
  CHECK(!pxl_write(s, &total, 1) && !pxl_save(s, "c.safetensors") && !pxl_restore(s, "c.safetensors"));
  pxl_cancel(s);
  e = pxl_run(s, &in, 1, nullptr, 0);
  CHECK(e && pxl_error_is_cancelled(e));
  pxl_error_free(e);
  char* json = nullptr;
  CHECK(!pxl_report(s, &json) && json[0] == '{');
  pxl_text_free(json);
  pxl_program_free(p);
  CHECK(!pxl_run(s, &in, 1, nullptr, 0));
  pxl_session_free(s);
}

/// Whether a call of the C interface refuses what it was given, as a mistake of the caller.
bool is_misuse(pxl_error* e) {
  const bool usage = e && (std::string(pxl_error_kind(e)) == "usage" || std::string(pxl_error_kind(e)) == "dtype" ||
                           std::string(pxl_error_kind(e)) == "shape" || std::string(pxl_error_kind(e)) == "value");
  pxl_error_free(e);
  return usage;
}

void plain_c_without_pointers() {
  pxl_program* p = nullptr;
  pxl_session* s = nullptr;
  const pxl_option nameless = {nullptr, "5"}, empty = {"step", nullptr};
  CHECK(is_misuse(pxl_load(nullptr, nullptr, 0, &p)) && is_misuse(pxl_load("none.pxl", nullptr, 0, nullptr)));
  CHECK(is_misuse(pxl_load_text(counter, nullptr, 1, &p)) && is_misuse(pxl_load_text(counter, nullptr, 0, nullptr)));
  CHECK(is_misuse(pxl_load_text(counter, &nameless, 1, &p)) && is_misuse(pxl_load_text(counter, &empty, 1, &p)));
  CHECK(!p && !pxl_load_text(counter, nullptr, 0, &p));
  CHECK(is_misuse(pxl_session_create(nullptr, "count", nullptr, &s)));
  CHECK(is_misuse(pxl_session_create(p, nullptr, nullptr, &s)) &&
        is_misuse(pxl_session_create(p, "count", nullptr, nullptr)));
  CHECK(!s && !pxl_session_create(p, "count", nullptr, &s));
  const int64_t three = 3;
  float x[3] = {1, 2, 3};
  const pxl_array good = {"x", PXL_FLOAT32, 1, &three, x}, into = {"now", PXL_FLOAT32, 1, &three, x};
  pxl_array bad = good;
  CHECK(is_misuse(pxl_run(nullptr, &good, 1, nullptr, 0)) && is_misuse(pxl_run(s, nullptr, 1, nullptr, 0)));
  CHECK(is_misuse(pxl_run(s, &good, 1, nullptr, 1)) && is_misuse(pxl_write(s, nullptr, 1)) &&
        is_misuse(pxl_read(s, nullptr, 1)));
  bad.name = nullptr;
  CHECK(is_misuse(pxl_run(s, &bad, 1, nullptr, 0)) && is_misuse(pxl_run(s, &good, 1, &bad, 1)));
  CHECK(is_misuse(pxl_write(s, &bad, 1)) && is_misuse(pxl_read(s, &bad, 1)));
  bad = good;
  bad.shape = nullptr;
  CHECK(is_misuse(pxl_run(s, &bad, 1, nullptr, 0)));
  bad.shape = &three;
  bad.rank = static_cast<size_t>(-1);
  CHECK(is_misuse(pxl_run(s, &bad, 1, nullptr, 0)));
  bad = good;
  bad.data = nullptr;
  CHECK(is_misuse(pxl_run(s, &bad, 1, nullptr, 0)));
  bad.name = "total";
  CHECK(is_misuse(pxl_read(s, &bad, 1)) && is_misuse(pxl_write(s, &bad, 1)));
  bad.name = "now";
  CHECK(is_misuse(pxl_run(s, &good, 1, &bad, 1)));
  for (const int number : {-1, PXL_FLOAT8_E5M2 + 1, 256 + PXL_FLOAT32}) {
    bad = good;
    std::memcpy(&bad.dtype, &number, sizeof number);
    CHECK(is_misuse(pxl_run(s, &bad, 1, nullptr, 0)));
  }
  CHECK(is_misuse(pxl_save(s, nullptr)) && is_misuse(pxl_save(nullptr, "c.safetensors")));
  CHECK(is_misuse(pxl_restore(s, nullptr)) && is_misuse(pxl_restore(nullptr, "c.safetensors")));
  char* json = nullptr;
  CHECK(is_misuse(pxl_report(s, nullptr)) && is_misuse(pxl_report(nullptr, &json)) && !json);
  CHECK(pxl_num_inputs(nullptr) == 0 && pxl_num_outputs(nullptr) == 0 && pxl_num_variables(nullptr) == 0);
  for (const pxl_session* of : {static_cast<const pxl_session*>(nullptr), static_cast<const pxl_session*>(s)}) {
    const pxl_info input = pxl_input(of, 1), output = pxl_output(of, 9),
                   variable = pxl_variable(of, static_cast<size_t>(-1));
    CHECK(!*input.name && !*output.name && !*variable.name && input.rank == 0);
  }
  CHECK(!*pxl_error_text(nullptr) && !*pxl_error_message(nullptr) && !*pxl_error_kind(nullptr) &&
        !*pxl_error_file(nullptr));
  CHECK(pxl_error_line(nullptr) == 0 && pxl_error_column(nullptr) == 0 && !pxl_error_is_cancelled(nullptr));
  pxl_cancel(nullptr);
  pxl_error_free(nullptr);
  pxl_program_free(nullptr);
  pxl_session_free(nullptr);
  pxl_text_free(nullptr);
  // The refused calls left the session as it was.
  x[0] = 1;
  CHECK(!pxl_run(s, &good, 1, &into, 1) && x[0] == 1 && x[2] == 3);
  pxl_session_free(s);
  pxl_program_free(p);
}

}  // namespace

int main() {
  try {
    runs();
    arrays_of_xtensor();
    bytes_of_bools();
    shared_variables();
    variables();
    errors();
    values();
    cancels();
    float_environments();
    signals();
    threads();
    forks();
    plain_c();
    plain_c_without_pointers();
  } catch (const pxl::BadResult& bad) {
    std::cout << bad.what() << std::endl;
    return 1;
  }
  return failures == 0 ? 0 : 1;
}
