// Tables of where a session's time went.
#include <sstream>

#include "runtime/base/threads/thread_pool.hpp"
#include "runtime/execute/session.hpp"
#include "tests/unit/support/arrays.hpp"
#include "tests/unit/support/errors.hpp"
#include "tests/unit/support/ops.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Line {
  double share = 0, microseconds = 0;
  int64_t runs = 0;
};

/// The numbers of the line that contains `what`.
Line line_with(const std::string& table, const std::string& what) {
  std::istringstream text(table);
  for (std::string line; std::getline(text, line);) {
    if (line.find(what) == line.npos) continue;
    Line found;
    char percent = 0;
    std::istringstream(line) >> found.share >> percent >> found.microseconds >> found.runs;
    CHECK(percent == '%');
    return found;
  }
  FAIL("no line with " << what << " in\n" << table);
  return {};
}

}  // namespace

TEST_CASE("a profile's parts add up to the loop") {
  auto ir = std::make_shared<Ir>();
  Graph& main = ir->main();
  Ops op(main);
  Tensor* a = main.add_variable(counting({32, 64}), "a");
  Tensor* b = main.add_variable(counting({64, 48}), "b");
  store(*ir, op("exp", {op("matmul", {a, b})}));
  Session session(ir, "cpu");
  session.start_profiling();
  const std::string head = "profile of " + ir->name() + ": ";
  CHECK(session.profile() == head + "no run\n");
  for (int i = 0; i < 20; ++i) session.run({});
  const std::string table = session.profile();
  INFO(table);
  CHECK(table.find(head + "20 runs in ") == 0);
  const Line kernels = line_with(table, "total of "), rest = line_with(table, "outside kernels"),
             outside = line_with(table, "outside session.run");
  std::istringstream text(table);
  std::string last;
  for (std::string line; std::getline(text, line) && !line.starts_with("memory: ");) last = line;
  const Line all = line_with(last, "total");
  CHECK(all.share == doctest::Approx(100));
  CHECK(kernels.runs == 20);
  CHECK(kernels.microseconds > 0);
  // Shares are printed to a tenth, times to a hundredth.
  CHECK(kernels.share + rest.share + outside.share == doctest::Approx(100).epsilon(0.002));
  CHECK(kernels.microseconds + rest.microseconds + outside.microseconds ==
        doctest::Approx(all.microseconds).epsilon(0.01));
}

TEST_CASE("a profile of one thread says what more cores are expected to take") {
  auto ir = std::make_shared<Ir>();
  Graph& main = ir->main();
  Ops op(main);
  Tensor* a = main.add_variable(counting({512, 256}), "a");
  Tensor* b = main.add_variable(counting({256, 512}), "b");
  store(*ir, op("exp", {op("matmul", {a, b})}));
  Session session(ir, "cpu");
  session.start_profiling();
  for (int i = 0; i < 5; ++i) session.run({});
  const std::string table = session.profile();
  INFO(table);
  const size_t at = table.find("expected on more cores");
  if (thread_pool().size() > 1) {
    CHECK(at == table.npos);
    return;
  }
  REQUIRE(at != table.npos);
  std::istringstream lines(table.substr(at));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  double before = 0;
  int rows = 0;
  for (int wanted = 1; std::getline(lines, line); wanted *= 2, ++rows) {
    double cores = 0, microseconds = 0, meetings = 0, times = 0;
    std::istringstream(line) >> cores >> microseconds >> meetings >> times;
    CHECK(cores == wanted);
    CHECK(times <= cores);
    CHECK((meetings > 0) == (cores > 1));
    if (cores == 2) CHECK(times > 1.2);
    CHECK(times >= before * 0.8);  // a core more does little harm
    before = times;
  }
  CHECK(rows == 7);
}
