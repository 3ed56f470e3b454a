// Tables of the machines and of their constants, and the parser of machine descriptions.
#include "runtime/tiles/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cstdlib>

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "runtime/base/diagnostic.hpp"
#include "runtime/base/suggest.hpp"

namespace pxl::tiles {

namespace {

/// Constants of all second-generation chips, which differ in their clocks.
Machine second_generation(std::string_view name, std::string_view chip, int64_t clock) {
  Machine m;
  m.name = name;
  m.chip = chip;
  m.tiles = 1472;
  m.workers = 6;
  m.memory = 638'976;
  m.executable = 212'992;
  m.clock = clock;
  m.exchange_bytes = 4;
  m.exchange_pair_bytes = 8;
  m.exchange_efficiency = 83;
  m.exchange_latency = 134;
  m.exchange_entry = 238;
  m.exchange_fragment = 3;
  m.sync = 126;
  m.units_f16_f16 = 16;
  m.units_f16_f32 = 8;
  m.units_f32 = 16;
  m.units_f8 = 16;
  m.weight_bytes = 8;
  m.vector_bytes = 8;
  m.load_store_bytes = 24;
  m.memcpy_bytes = 8;
  m.host_bytes = 5'500'000'000;
  m.runtime_bytes = 1793;
  m.gap_percent = 5;
  return m;
}

Machine first_generation() {
  Machine m = second_generation("mk1", "Colossus Mk1 GC2", 1'600'000'000);
  m.tiles = 1216;
  m.memory = 262'144;
  m.executable = 131'072;
  m.units_f16_f16 = 8;
  m.units_f32 = 8;
  m.units_f8 = 0;
  return m;
}

Machine bow() {
  Machine m = second_generation("bow", "Bow IPU", 1'850'000'000);
  m.units_f8 = 0;
  return m;
}

const std::array<Machine, 4>& table() {
  static const std::array<Machine, 4> machines = {first_generation(),
                                                  second_generation("mk2", "Colossus Mk2 GC200", 1'330'000'000), bow(),
                                                  second_generation("c600", "C600 (Mk2 with FP8)", 1'500'000'000)};
  return machines;
}

constexpr std::string_view arch = "Graphcore architecture headers (IPU1) and Mk2 instruction set text";
constexpr std::string_view stack = "ipu-stack, measured on a C600";
constexpr std::string_view libs = "PopLibs, convolution planner and vertex estimators";

constexpr MachineField fields[] = {
    {"tiles", &Machine::tiles, "", "tiles that programs use", arch, 1, 65'536},
    {"workers", &Machine::workers, "", "worker contexts a tile", arch, 1, 64},
    {"memory", &Machine::memory, "bytes", "memory of a tile", arch, 4096, int64_t{1} << 30},
    {"executable", &Machine::executable, "bytes", "part of it that instructions run from", arch, 1024,
     int64_t{1} << 30},
    {"clock", &Machine::clock, "Hz", "tile clock; C600: 1.5 GHz as ipu-stack runs its card",
     "Graphcore example logs (Mk2), tessellate-ipu (Bow), Jia et al. 2019 (Mk1)", 1'000'000, 100'000'000'000},
    {"exchange_bytes", &Machine::exchange_bytes, "bytes/cycle", "received, and at the same time sent, by a tile", arch,
     1, 1024},
    {"exchange_pair_bytes", &Machine::exchange_pair_bytes, "bytes/cycle", "where a pair of tiles receives the same",
     libs, 1, 2048},
    {"exchange_efficiency", &Machine::exchange_efficiency, "percent", "of a schedule's cycles that move payload", stack,
     1, 100},
    {"exchange_latency", &Machine::exchange_latency, "cycles", "from sending to receiving", stack, 0, 1'000'000},
    {"exchange_entry", &Machine::exchange_entry, "cycles", "of a phase beyond its scheduled transfers", stack, 0,
     1'000'000},
    {"exchange_fragment", &Machine::exchange_fragment, "cycles", "at least, for each contiguous piece", stack, 0, 1000},
    {"sync", &Machine::sync, "cycles", "of a synchronisation of all tiles", libs, 0, 1'000'000},
    {"units_f16_f16", &Machine::units_f16_f16, "", "accumulating units, half partial sums", libs, 1, 1024},
    {"units_f16_f32", &Machine::units_f16_f32, "", "accumulating units, half operands and float partial sums", libs, 1,
     1024},
    {"units_f32", &Machine::units_f32, "", "accumulating units, float operands", libs, 1, 1024},
    {"units_f8", &Machine::units_f8, "", "accumulating units, quarter operands; 0: none", libs, 0, 1024},
    {"weight_bytes", &Machine::weight_bytes, "bytes/cycle", "of coefficients loaded into the units", libs, 1, 1024},
    {"vector_bytes", &Machine::vector_bytes, "bytes", "of an arithmetic vector", arch, 4, 256},
    {"load_store_bytes", &Machine::load_store_bytes, "bytes/cycle", "loaded and stored by all ports of a tile", arch, 1,
     1024},
    {"memcpy_bytes", &Machine::memcpy_bytes, "bytes/cycle", "copied", libs, 1, 1024},
    {"host_bytes", &Machine::host_bytes, "bytes/s", "of the host link; known to a factor of two only",
     "Graphcore examples, EfficientDet", 1'000, int64_t{1} << 50},
    {"runtime_bytes", &Machine::runtime_bytes, "bytes", "of each tile kept by the runtime: state and supervisor stack",
     "ipu-stack; profiler test of Graphcore's TensorFlow add-ons", 0, int64_t{1} << 30},
    {"gap_percent", &Machine::gap_percent, "percent", "of variables, lost to alignment and element constraints",
     "an assumption", 0, 100},
};

constexpr bool has_source(const MachineField& f) { return !f.key.empty() && !f.source.empty() && f.min <= f.max; }
constexpr bool all_have_sources() {
  for (const MachineField& f : fields)
    if (!has_source(f)) return false;
  return true;
}
static_assert(all_have_sources());

int64_t parse_number(std::string_view key, std::string_view text) {
  struct Suffix {
    std::string_view text;
    double factor;
  };
  static constexpr Suffix suffixes[] = {{"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0},
                                        {"k", 1e3},     {"M", 1e6},        {"G", 1e9}};
  std::string_view digits = text;
  double factor = 1;
  for (const Suffix& s : suffixes) {
    if (digits.size() > s.text.size() && digits.substr(digits.size() - s.text.size()) == s.text) {
      factor = s.factor;
      digits.remove_suffix(s.text.size());
      break;
    }
  }
  double value = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failed != std::errc{} || end != digits.data() + digits.size() || !(std::abs(value * factor) < 9e15) ||
      std::floor(value * factor) != value * factor)
    throw Error(fmt::format("machine: {}: expected a whole number, got `{}`", key, text),
                {"numbers may end in k, M, G, Ki, Mi or Gi: memory=624Ki, clock=1.85G"}, Fault::usage);
  return static_cast<int64_t>(value * factor);
}

const Machine* find_machine(std::string_view name) {
  for (const Machine& m : table())
    if (m.name == name) return &m;
  return nullptr;
}

const MachineField& find_field(std::string_view key) {
  std::vector<std::string> names;
  for (const MachineField& f : fields) {
    if (f.key == key) return f;
    names.emplace_back(f.key);
  }
  const std::string hint = did_you_mean(std::string(key), names);
  throw Error(fmt::format("machine: unknown constant `{}`{}", key, hint.empty() ? "" : "; " + hint),
              {fmt::format("constants: {}", fmt::join(names, ", "))}, Fault::usage);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    words.push_back(word);
    if (comma == text.npos) return words;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::span<const MachineField> machine_fields() { return fields; }
std::span<const Machine> machine_table() { return table(); }

int64_t Machine::units(int64_t operand_bytes, int64_t partial_bytes) const {
  if (operand_bytes == 1) return units_f8;
  if (operand_bytes == 2) return partial_bytes == 2 ? units_f16_f16 : units_f16_f32;
  return units_f32;
}

int64_t Machine::macs(int64_t operand_bytes, int64_t partial_bytes) const {
  // Elements per unit and cycle. A row of float32 operands takes eight cycles for a depth of eight.
  const int64_t elements = operand_bytes == 1 ? 8 : operand_bytes == 2 ? 4 : 1;
  return units(operand_bytes, partial_bytes) * elements;
}

int64_t Machine::vector_elements(int64_t element_bytes) const {
  return element_bytes >= vector_bytes ? 1 : vector_bytes / (element_bytes < 2 ? 2 : element_bytes);
}

double Machine::microseconds(int64_t cycles) const {
  return static_cast<double>(cycles) * 1e6 / static_cast<double>(clock);
}

Machine parse_machine(std::string_view text) {
  Machine machine = *find_machine(default_machine);
  bool changed = false, first = true;
  for (const std::string_view word : split(text)) {
    const size_t equals = word.find('=');
    if (equals == word.npos) {
      const Machine* base = first ? find_machine(word) : nullptr;
      if (!base) {
        std::vector<std::string> names;
        for (const Machine& m : table()) names.push_back(m.name);
        const std::string hint = did_you_mean(std::string(word), names);
        throw Error(word.empty()
                        ? std::string("machine: a name or KEY=VALUE is missing")
                        : fmt::format("machine: unknown machine `{}`{}", word, hint.empty() ? "" : "; " + hint),
                    {fmt::format("machines: {}; then constants as KEY=VALUE: \"mk2,tiles=736,clock=1.5G\"",
                                 fmt::join(names, ", "))},
                    Fault::usage);
      }
      machine = *base;
    } else {
      const MachineField& field = find_field(word.substr(0, equals));
      const int64_t value = parse_number(field.key, word.substr(equals + 1));
      if (value < field.min || value > field.max)
        throw Error(fmt::format("machine: {} is {}, but must be in {}..{}", field.key, value, field.min, field.max), {},
                    Fault::usage);
      machine.*field.field = value;
      changed = true;
    }
    first = false;
  }
  if (machine.executable > machine.memory) machine.executable = machine.memory;
  if (machine.runtime_bytes > machine.memory) machine.runtime_bytes = machine.memory;
  if (changed) machine.name = std::string(text);
  return machine;
}

const Machine& standard_machine() {
  static const Machine machine = [] {
    const char* text = std::getenv("PXL_MACHINE");
    return parse_machine(text && *text ? std::string_view(text) : default_machine);
  }();
  return machine;
}

}  // namespace pxl::tiles
