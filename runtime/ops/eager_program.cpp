#include "runtime/ops/eager_program.hpp"

#include <algorithm>

#include "runtime/base/limits/budget.hpp"
#include "runtime/base/threads/subnormals.hpp"
#include "runtime/kernels/interruptible.hpp"
#include "runtime/ops/run.hpp"

namespace pxl {
namespace {

constexpr size_t max_operands = 64, max_results = 64;  // of one op; those with more are not recorded
// Maximum size in elements: of the constants, and of arrays whose kernels may keep tables in proportion to them
// (offsets, weights). An op on that many elements takes some 30 us, a few times the cost of finding its kernel.
constexpr int64_t max_recorded_elements = int64_t{1} << 18;
// Maximum elements of all inputs together. Above it, finding a kernel costs below 1 %, and recording keeps all results.
constexpr int64_t max_input_elements = int64_t{1} << 22;

bool is_same_array(const Array& a, const Array& b) { return a.raw() == b.raw() && a.spec() == b.spec(); }

}  // namespace

const Array& EagerProgram::array_of(const Operand& operand, std::span<const Array* const> inputs,
                                    const std::vector<Array>& results) const {
  switch (operand.source) {
    case Source::input: return *inputs[operand.index];
    case Source::result: return results[operand.index];
    default: return constants_[operand.index];
  }
}

void EagerProgram::run(std::span<const Array* const> inputs, std::vector<Array>& results) const {
  results.clear();
  for (const Step& step : steps_) run(step, inputs, results);
}

void EagerProgram::run(const Step& step, std::span<const Array* const> inputs, std::vector<Array>& results) const {
  if (step.view) {
    results.push_back(array_of(step.operands[0], inputs, results).reshaped(step.results[0].shape));
    return;
  }
  if (step.charge_ns) charge(step.charge_ns);
  // Set as far as the op has operands and results: clearing all of them is 5 % of a call with a small result.
  std::array<const std::byte*, max_operands> from;
  std::array<std::byte*, max_results> to;
  std::vector<Array> converted;  // keeps them alive
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const Operand& operand = step.operands[i];
    from[i] = nullptr;
    if (operand.source == Source::absent) continue;
    const Array& array = array_of(operand, inputs, results);
    from[i] = array.dtype() == operand.dtype ? array.raw() : converted.emplace_back(array.cast(operand.dtype)).raw();
  }
  for (size_t i = 0; i < step.results.size(); ++i)
    to[i] = results.emplace_back(step.results[i].dtype, step.results[i].shape).mutable_raw();
  const FlushSubnormals flush;  // as in runs of programs
  run_interruptibly(step.kernel, Buffers{from.data(), to.data()});
}

Array EagerProgram::take_output(size_t i, std::span<const Array* const> inputs, std::vector<Array>& results) const {
  const Operand& output = outputs_[i];
  return output.moved ? std::move(results[output.index]) : array_of(output, inputs, results);
}

void EagerRecorder::count(const Array& array, bool kept) {
  if (kept) elements_ += array.size();
  if (!array.has_elements() || elements_ > max_recorded_elements) refuse();
}

bool EagerRecorder::are_recordable(std::span<const Array* const> inputs) {
  int64_t elements = 0;
  for (const Array* a : inputs) elements += a->size();
  return elements <= max_input_elements;
}

EagerProgram::Operand EagerRecorder::operand_of(const Array& array) {
  using Source = EagerProgram::Source;
  for (size_t i = results_.size(); i-- > 0;)
    if (is_same_array(results_[i], array)) return {Source::result, static_cast<uint32_t>(i), array.dtype()};
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (is_same_array(*inputs_[i], array)) return {Source::input, static_cast<uint32_t>(i), array.dtype()};
  count(array, true);
  program_.constants_.push_back(array);
  return {Source::constant, static_cast<uint32_t>(program_.constants_.size() - 1), array.dtype()};
}

void EagerRecorder::add(const OpContext& site, const Kernel& kernel, std::span<const std::optional<Array>> given,
                        std::span<const Array> converted, std::span<const Array> results) {
  const OpRow& row = site.row;
  if (row.side_effect || row.modifies || row.exchange != Exchange::none) refuse();
  if (given.size() > max_operands || results.size() > max_results) refuse();
  EagerProgram::Step step;
  step.view = is_shared_view(site);
  const bool keeps = !step.view && !kernel.is_fusion_producer();  // what writes elements in order keeps no table
  for (const std::optional<Array>& a : given)
    if (a) count(*a, keeps);
  for (const Array& a : results) count(a, keeps);
  if (refused_) return;
  for (size_t i = 0; i < given.size(); ++i) {
    EagerProgram::Operand operand;
    if (given[i]) operand = operand_of(*given[i]), operand.dtype = converted[i].dtype();
    if (operand.source == EagerProgram::Source::constant) program_.constants_.back() = converted[i];
    step.operands.push_back(operand);
  }
  step.results.assign(site.out.begin(), site.out.end());
  step.kernel = kernel;
  if (kernel.phases().empty()) step.charge_ns = static_cast<int64_t>(estimated_ns(kernel, converted, site.out));
  program_.steps_.push_back(std::move(step));
  results_.insert(results_.end(), results.begin(), results.end());
}

std::optional<EagerProgram> EagerRecorder::finish(std::span<const Array> outputs) {
  for (const Array& a : outputs) count(a, false);
  if (refused_) return std::nullopt;
  std::vector<EagerProgram::Operand>& to = program_.outputs_;
  for (const Array& a : outputs) to.push_back(operand_of(a));
  for (size_t i = 0; i < to.size(); ++i)
    to[i].moved = to[i].source == EagerProgram::Source::result &&
                  std::none_of(to.begin() + static_cast<std::ptrdiff_t>(i) + 1, to.end(), [&](const auto& later) {
                    return later.source == to[i].source && later.index == to[i].index;
                  });
  return std::move(program_);
}

}  // namespace pxl
