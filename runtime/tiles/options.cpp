// Parsers of the tile model's options.
#include <fmt/format.h>

#include <cstdlib>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl::tiles {

namespace {

/// Returns an op's name or id; throws a usage Error for unknown names.
const std::string& known_op(const std::string& word) {
  if (!word.empty() && word.find_first_not_of("0123456789") == word.npos) return word;
  std::vector<std::string> names;
  for (const OpRow* row : op_table()) {
    if (word == row->schedule || word == row->name) return word;
    if (!row->schedule.empty()) names.emplace_back(row->schedule);
  }
  const std::string hint = did_you_mean(word, names);
  throw Error(fmt::format("available-memory-proportion: unknown op `{}`{}", word, hint.empty() ? "" : "; " + hint),
              {"ops as schedules print them: MatMul=0.3 by name, 107=0.1 by id"}, Fault::usage);
}

}  // namespace

void parse_memory_proportions(std::string_view given, EstimateOptions& options) {
  std::string rest(given);
  const auto proportion = [&](const std::string& word) {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end || !(value >= 0 && value <= 1))
      throw Error(fmt::format("available-memory-proportion: expected a number from 0 to 1, got `{}`", word),
                  {"0.6 for all ops, or for some: MatMul=0.3,107=0.1 by name or op id"}, Fault::usage);
    return static_cast<int64_t>(value * 1000 + 0.5);
  };
  while (true) {
    const size_t comma = rest.find(',');
    const std::string word = rest.substr(0, comma);
    const size_t equals = word.find('=');
    if (equals == word.npos)
      options.candidates.available_memory_permille = proportion(word);
    else
      options.op_memory.emplace_back(known_op(word.substr(0, equals)), proportion(word.substr(equals + 1)));
    if (comma == rest.npos) return;
    rest.erase(0, comma + 1);
  }
}

void parse_plans(std::string_view given, EstimateOptions& options) {
  std::string rest(given);
  options.candidates.separately = given == "separately";
  if (options.candidates.separately) {
    options.candidates.gather = true;
    options.candidates.copies = options.compare_families = false;
    return;
  }
  options.candidates.gather = options.candidates.copies = false;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string word = rest.substr(0, comma);
    if (word == "gather")
      options.candidates.gather = true;
    else if (word == "shift")
      options.candidates.copies = true;
    else
      throw Error(fmt::format("plans: expected gather, shift or separately, got `{}`", word),
                  {"--plans gather,shift compares both families"}, Fault::usage);
    if (comma == rest.npos) break;
    rest.erase(0, comma + 1);
  }
  options.compare_families = options.candidates.gather && options.candidates.copies;
}

void parse_partials(std::string_view given, EstimateOptions& options) {
  if (given == "float16" || given == "half")
    options.candidates.half_partial_bytes = 2;
  else if (given == "float32" || given == "float")
    options.candidates.half_partial_bytes = 4;
  else
    throw Error(fmt::format("partials: expected float16 or float32, got `{}`", given), {}, Fault::usage);
}

}  // namespace pxl::tiles
