#include "interpreter/cli/profiles/measure_script.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/execute/measurements/profile.hpp"
#include "runtime/execute/session.hpp"

namespace pxl::cli {

namespace {

/// Sessions that are made in its scope add their measurements to `all`.
struct Collecting {
  Collecting(std::vector<Measurement>& all, int64_t steps) {
    Session::collect(&all);
    Profile::limit_runs(steps);
  }
  ~Collecting() {
    Session::collect(nullptr);
    Profile::limit_runs(0);
  }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;
};

int64_t max_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

MeasuredScript measure_script(const CommonFlags& common, const Script& script, int64_t steps, bool prints) {
  using Clock = Profile::Clock;
  MeasuredScript out;
  ScriptMeasurement& m = out.measurement;
  m.file = script.file;
  for (const std::string& word : script.options) m.file += " " + word;
  roofline();
  const ast::TreePtr tree = tree_of(script);
  InterpreterOptions options = interpreter_options(common);
  options.options = parse_options(script.file, scan_options(*tree), script.options);
  options.program_name = script.file;
  if (!prints) options.out = [](std::string_view) {};
  if (!common.engine.empty()) set_default_engine(common.engine);
  const Clock::time_point begin = Clock::now();
  {
    const Collecting collecting(m.sessions, steps);
    const auto interpreter = make_interpreter(std::move(options));
    try {
      evaluator_of(*interpreter).run_file(tree);
    } catch (const Interrupted&) {
      clear_interrupt();
      out.interrupted = !Profile::limit_reached();
    }
    if (Profile::limit_reached()) clear_interrupt();  // the script may have ended before it heard of the limit
    m.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    m.resident_peak = max_resident_bytes();
  }
  if (m.sessions.empty())
    throw Error(fmt::format("{}: no session ran, so there is nothing to measure", script.file),
                {"`session = Session(p())` and `session.run(...)` run a program",
                 "--machine bow models a program without running it"});
  return out;
}

}  // namespace pxl::cli
