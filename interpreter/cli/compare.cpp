// `pxl compare`: runs a script with one or two engines, and names the first tensor whose values differ.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "interpreter/cli/command.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/library/run_watch.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/io/npz.hpp"
#include "runtime/tensor/float8.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl::cli {

namespace {

constexpr int64_t max_kept_bytes = int64_t{1} << 30;  // limit for the first run's values

/// The largest allowed difference between two values, as a fraction of the tensor's largest number.
double tolerance_of(DType dtype) {
  if (dtype == DType::float64) return 1e-9;
  if (dtype == DType::float32) return 1e-4;
  if (dtype == DType::float16) return 1e-2;
  if (dtype == DType::bfloat16) return 8e-2;
  return is_float8(dtype) ? 0.2 : 0;
}

Array widened(const Array& a) {
  return is_float8(a.dtype()) ? from_float8(a, DType::float64, 0) : a.cast(DType::float64);
}

/// The element that differs most from its expected value; nullopt if all are close.
struct Apart {
  int64_t element;
  double is, should_be;
};
std::optional<Apart> apart(const Array& values, const Array& expected, double tolerance) {
  const Array a = widened(values), b = widened(expected);
  double largest = 0;
  for (int64_t i = 0; i < b.size(); ++i)
    if (std::isfinite(b.number(i))) largest = std::max(largest, std::fabs(b.number(i)));
  std::optional<Apart> worst;
  double most = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.number(i), y = b.number(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double by = std::isfinite(x) && std::isfinite(y) ? std::fabs(x - y) : HUGE_VAL;
    if (by <= tolerance * largest || by <= most) continue;
    most = by;
    worst = {i, x, y};
  }
  return worst;
}

/// Compares a run's values with expected ones.
class Comparison final : public RunWatch, public RunObserver {
 public:
  explicit Comparison(std::optional<double> tolerance) : tolerance_(tolerance) {}

  RunObserver* begin(SessionObject&) override { return this; }
  RunObserver* evaluation() override { return this; }
  void end(SessionObject&) override {}

  void after(const OpView& v) override {
    const std::string& program = v.op.graph->ir().name();
    const Key key{program, v.op.graph->id(), v.op.id, v.replica,
                  times_[{program, v.op.graph->id(), v.op.id, v.replica, 0}]++};
    for (size_t i = 0; i < v.outputs.size(); ++i) {
      const Tensor& t = *v.op.outputs[i];
      if (!named_.empty())
        check_named(v.op, t, v.outputs[i]);
      else if (!compares_)
        keep(key, i, v.outputs[i]);
      else if (const auto found = kept_.find({key, i}); found != kept_.end())
        check(v.op, t, v.outputs[i], found->second);
    }
  }

  /// The values so far come from the engine `first`; those of `engine` follow.
  void compare_with(std::string engine, std::string first) {
    engine_ = std::move(engine);
    other_ = std::move(first);
    compares_ = true;
    times_.clear();
  }
  /// Expects values from a file. Each is the value of the first tensor with its name.
  void compare_with(const std::string& file, std::vector<NamedArray> values) {
    other_ = file;
    for (NamedArray& a : values) named_.emplace(a.name, std::move(a.data));
  }

  const std::optional<Error>& difference() const { return difference_; }
  int64_t compared() const { return compared_; }
  bool is_full() const { return bytes_ > max_kept_bytes; }
  std::vector<std::string> unused() const {
    std::vector<std::string> names;
    for (const auto& [name, array] : named_)
      if (used_.count(name) == 0) names.push_back(name);
    return names;
  }

 private:
  using Key = std::tuple<std::string, std::string, int, int, int>;  // program, graph, op, replica, execution number

  void keep(const Key& key, size_t output, const Array& values) {
    bytes_ += values.bytes();
    if (!is_full()) kept_.emplace(std::pair(key, output), values.clone());
  }

  void check_named(const Op& op, const Tensor& t, const Array& values) {
    for (const std::string& name : {t.id, t.name}) {
      const auto found = named_.find(name);
      if (found == named_.end() || !used_.insert(name).second) continue;
      if (found->second.size() == values.size()) return check(op, t, values, found->second.reshaped(values.shape()));
      differ(op, fmt::format("`{}` is {}, and {} in `{}`", t.name, text(t.spec), text(found->second.spec()), other_));
    }
  }

  void check(const Op& op, const Tensor& t, const Array& values, const Array& expected) {
    ++compared_;
    const double allowed = tolerance_ && is_floating(t.spec.dtype) ? *tolerance_ : tolerance_of(t.spec.dtype);
    const std::optional<Apart> found = apart(values, expected, allowed);
    if (!found) return;
    const std::string by = engine_.empty() ? "" : fmt::format(" by `{}`", engine_);
    differ(op, fmt::format("`{}` of {} differs: element {} is {}{}, and {} {} `{}`", t.name, text(t.spec),
                           found->element, number_text(found->is), by, number_text(found->should_be),
                           engine_.empty() ? "in" : "by", other_));
  }

  [[noreturn]] void differ(const Op& op, std::string message) {
    Error error(std::move(message), {fmt::format("{} tensors before it agree", std::max<int64_t>(compared_ - 1, 0))});
    error.as(codes::assertion);
    error.locate(op.origin.span, op.origin.frames);
    difference_ = error;
    throw error;
  }

  std::optional<double> tolerance_;
  std::string engine_, other_;
  bool compares_ = false;
  std::map<Key, int> times_;
  std::map<std::pair<Key, size_t>, Array> kept_;
  int64_t bytes_ = 0, compared_ = 0;
  std::map<std::string, Array> named_;
  std::set<std::string> used_;
  std::optional<Error> difference_;
};

/// Runs a script with an engine, watches the run, and prints nothing.
void run_watched(const std::string& script, const std::vector<std::string>& words, const std::string& engine,
                 const std::shared_ptr<Comparison>& watch) {
  set_default_engine(engine);
  const ast::TreePtr tree = parse_or_throw(read_source(script));
  InterpreterOptions options;
  options.options = parse_options(script, scan_options(*tree), words);
  options.program_name = script;
  options.quiet = true;
  const auto owned = make_interpreter(std::move(options));
  run_watch_of(*owned) = watch;
  try {
    evaluator_of(*owned).run_file(tree);
  } catch (const Error&) {
    if (!watch->difference()) throw;
  }
}

/// The engines of the command line, where the flag may be given twice.
std::vector<std::string> engines_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> engines;
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i] == "--engine" && i + 1 < arguments.size())
      engines.push_back(arguments[++i]);
    else if (arguments[i].starts_with("--engine="))
      engines.push_back(arguments[i].substr(9));
  }
  for (const std::string& name : engines) find_engine(name);
  return engines;
}

std::optional<double> tolerance_of(const Invocation& call) {
  if (!call.has("--tolerance")) return std::nullopt;
  const std::string word = call.value("--tolerance");
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != 0 || !(value >= 0) || std::isinf(value))
    throw Error(fmt::format("compare: `--tolerance` is a number from 0, not `{}`", word), {"`--tolerance 1e-3`"},
                Fault::usage);
  return value;
}

int finish(const Comparison& watch, const std::string& what) {
  if (watch.difference()) {
    report(*watch.difference());
    return exit_failed;
  }
  print_out("{} tensors agree: {}\n", watch.compared(), what);
  return exit_ok;
}

int run_compare(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(compare_command, arguments, 1);
  std::vector<std::string> engines = engines_of(arguments);
  if (engines.empty() && !common.engine.empty()) engines.push_back(common.engine);
  const std::string script = call.operands.front();
  const std::vector<std::string> words(call.operands.begin() + 1, call.operands.end());
  const auto watch = std::make_shared<Comparison>(tolerance_of(call));
  // Both runs draw the same random numbers.
  setenv("PXL_SEED", "1", 0);
  if (call.has("--against")) {
    if (engines.size() > 1) throw Error("compare: `--against` takes one engine", {}, Fault::usage);
    const std::string file = call.value("--against");
    watch->compare_with(file, load_npz(file));
    run_watched(script, words, engines.empty() ? default_engine() : engines[0], watch);
    if (const auto unused = watch->unused(); !watch->difference() && !unused.empty())
      print_err("no tensor is called {}\n", join_texts(unused, ", "));
    return finish(*watch, fmt::format("{} and {}", script, file));
  }
  for (const char* name : {"planned", "reference"})
    if (engines.size() < 2 && std::ranges::count(engines, name) == 0) engines.emplace_back(name);
  if (engines.size() != 2 || engines[0] == engines[1])
    throw Error("compare: two engines are compared", {"`--engine planned --engine reference`"}, Fault::usage);
  run_watched(script, words, engines[0], watch);
  if (watch->is_full()) print_err("the first GiB of values is compared, and no more\n");
  watch->compare_with(engines[1], engines[0]);
  run_watched(script, words, engines[1], watch);
  return finish(*watch, fmt::format("{} and {}", engines[0], engines[1]));
}

constexpr Flag compare_flags[] = {
    {"--engine", "NAME", "an engine; given twice, the two that are compared: planned and reference by default", "",
     engine_words},
    {"--against", "FILE.npz", "compare with the arrays of a file, by the names of tensors"},
    {"--tolerance", "X", "how far floats may be apart, as a part of the largest number of their tensor"},
};

}  // namespace

const Command compare_command{
    "compare",
    "compare [--engine A] [--engine B] [--against FILE.npz] [--tolerance X] FILE [-- --OPTION VALUE ...]",
    "name the first tensor that two engines compute differently",
    run_compare,
    compare_flags,
    "The script runs twice, op by op, and prints nothing. The first tensor whose values differ is shown with its place "
    "in "
    "the program, and the exit status is 1. Ops that only one engine runs are not compared. With --against it runs "
    "once: "
    "each array of the file is compared with the first value of the tensor that has its name."};

}  // namespace pxl::cli
