// Tables of the machines and their constants, and the parser of what-if machines.
#include "runtime/tiles/machine/machine.hpp"

#include <fmt/format.h>
#include <cstdlib>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/tiles/machine/machine_file.hpp"

namespace pxl::tiles {

namespace {

constexpr Presence may_lack = Presence::optional;
constexpr int64_t max_memory = int64_t{1} << 30, max_cycles = 100'000'000, max_bytes = int64_t{1} << 50;

// clang-format off
constexpr MachineField fields[] = {
    {"tile", "tiles", &Machine::tiles, "", "tiles that programs use", 1, 65'536},
    {"tile", "workers", &Machine::workers, "", "worker contexts a tile", 1, 64},
    {"tile", "memory", &Machine::memory, "bytes", "memory of a tile", 4096, max_memory},
    {"tile", "executable", &Machine::executable, "bytes", "part of it that instructions run from", 1024, max_memory},
    {"tile", "clock", &Machine::clock, "Hz", "tile clock", 1'000'000, 100'000'000'000},
    {"tile", "launch", &Machine::launch, "cycles", "to start an op", 0, max_cycles, may_lack},
    {"exchange", "exchange_bytes", &Machine::exchange_bytes, "bytes/cycle", "received, and at the same time sent, by a tile", 1, 1024},
    {"exchange", "exchange_pair_bytes", &Machine::exchange_pair_bytes, "bytes/cycle", "where a pair of tiles receives the same", 1, 2048},
    {"exchange", "exchange_efficiency", &Machine::exchange_efficiency, "percent", "of a schedule's cycles that move payload", 1, 100},
    {"exchange", "exchange_latency", &Machine::exchange_latency, "cycles", "from sending to receiving", 0, 1'000'000},
    {"exchange", "exchange_entry", &Machine::exchange_entry, "cycles", "of a phase beyond its scheduled transfers", 0, 1'000'000},
    {"exchange", "exchange_fragment", &Machine::exchange_fragment, "cycles", "at least, for each contiguous piece", 0, 1000},
    {"exchange", "sync", &Machine::sync, "cycles", "of a synchronisation of all tiles", 0, 1'000'000},
    {"exchange", "mesh_columns", &Machine::mesh_columns, "", "tiles in a row of the mesh; 0: a flat exchange", 0, 65'536, may_lack},
    {"exchange", "hop_latency", &Machine::hop_latency, "cycles", "from a tile of the mesh to its neighbour", 0, 1'000'000, may_lack},
    {"exchange", "link_bytes", &Machine::link_bytes, "bytes/cycle", "on a link of the mesh, in each direction", 0, 4096, may_lack},
    {"exchange", "overlap", &Machine::overlap, "percent", "of exchange and second level that may run while tiles compute", 0, 100, may_lack},
    {"products", "units_f16_f16", &Machine::units_f16_f16, "", "accumulating units, half partial sums", 1, 1024, may_lack},
    {"products", "units_f16_f32", &Machine::units_f16_f32, "", "accumulating units, half operands and float partial sums", 1, 1024, may_lack},
    {"products", "units_f32", &Machine::units_f32, "", "accumulating units, float operands", 1, 1024, may_lack},
    {"products", "units_f8", &Machine::units_f8, "", "accumulating units, quarter operands; 0: none", 0, 1024, may_lack},
    {"products", "weight_bytes", &Machine::weight_bytes, "bytes/cycle", "of coefficients loaded into the units", 1, 1024, may_lack},
    {"products", "block_rows", &Machine::block_rows, "", "rows of a block that the matrix unit multiplies at once; 0: accumulating units", 0, 1024, may_lack},
    {"products", "block_depth", &Machine::block_depth, "", "depth of such a block", 1, 1024, may_lack},
    {"products", "block_columns", &Machine::block_columns, "", "columns of such a block", 1, 1024, may_lack},
    {"products", "block_f32", &Machine::block_f32, "cycles", "of a block of float operands", 1, 1'000'000, may_lack},
    {"products", "block_f16", &Machine::block_f16, "cycles", "of a block of half operands", 1, 1'000'000, may_lack},
    {"products", "block_f8", &Machine::block_f8, "cycles", "of a block of quarter operands; 0: none", 0, 1'000'000, may_lack},
    {"products", "block_load_bytes", &Machine::block_load_bytes, "bytes/cycle", "of operands loaded into the unit while it multiplies the block before", 1, 4096, may_lack},
    {"products", "block_overhead", &Machine::block_overhead, "cycles", "of a block beyond its multiplication or load", 0, 1'000'000, may_lack},
    {"products", "block_store", &Machine::block_store, "cycles", "to store a block of the result", 0, 1'000'000, may_lack},
    {"products", "product_cycles", &Machine::product_cycles, "cycles", "of a product on a tile beyond its blocks", 0, max_cycles, may_lack},
    {"vectors", "vector_bytes", &Machine::vector_bytes, "bytes", "of an arithmetic vector", 4, 256},
    {"vectors", "load_store_bytes", &Machine::load_store_bytes, "bytes/cycle", "loaded and stored by all ports of a tile", 1, 1024},
    {"vectors", "memcpy_bytes", &Machine::memcpy_bytes, "bytes/cycle", "copied", 1, 1024},
    {"vectors", "pool_window", &Machine::pool_window, "cycles", "of a pool's window, besides its elements", 0, max_cycles, may_lack},
    {"vectors", "pool_visit", &Machine::pool_visit, "cycles", "to begin a visit to an element of a window", 0, max_cycles, may_lack},
    {"vectors", "pool_vector", &Machine::pool_vector, "cycles", "of each vector of such an element", 0, max_cycles, may_lack},
    {"dram", "dram_memory", &Machine::dram_memory, "bytes", "of the second memory level, whole chip; 0: none", 0, max_bytes, may_lack},
    {"dram", "dram_bytes", &Machine::dram_bytes, "bytes/s", "read or written, whole chip", 1'000, max_bytes, may_lack},
    {"dram", "dram_efficiency", &Machine::dram_efficiency, "percent", "of this rate that is reached", 1, 100, may_lack},
    {"dram", "dram_transfer", &Machine::dram_transfer, "bytes", "of the smallest transfer; smaller ones take as long", 1, 1 << 20, may_lack},
    {"dram", "dram_latency", &Machine::dram_latency, "cycles", "until the first bytes arrive", 0, 1'000'000, may_lack},
    {"host", "host_bytes", &Machine::host_bytes, "bytes/s", "of the host link; known to a factor of two only", 1'000, max_bytes},
    {"host", "host_latency", &Machine::host_latency, "ns", "of a transfer of any size", 0, 1'000'000'000, may_lack},
    {"tile", "runtime_bytes", &Machine::runtime_bytes, "bytes", "of each tile kept by the runtime: state and supervisor stack", 0, max_memory},
    {"tile", "gap_percent", &Machine::gap_percent, "percent", "of variables, lost to alignment and element constraints", 0, 100},
};
// clang-format on

const std::vector<Machine>& table() {
  static const auto& machines = never_destroyed([] {
    std::vector<Machine> all;
    for (const MachineFile& f : machine_files()) all.push_back(read_machine(std::string(f.name) + ".machine", f.text));
    return all;
  }());
  return machines;
}

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
              {fmt::format("constants: {}", join_texts(names, ", "))}, Fault::usage);
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

int64_t Machine::block_cycles(int64_t operand_bytes) const {
  return operand_bytes == 1 ? block_f8 : operand_bytes == 2 ? block_f16 : block_f32;
}

int64_t Machine::units(int64_t operand_bytes, int64_t partial_bytes) const {
  if (operand_bytes == 1) return units_f8;
  if (operand_bytes == 2) return partial_bytes == 2 ? units_f16_f16 : units_f16_f32;
  return units_f32;
}

int64_t Machine::macs(int64_t operand_bytes, int64_t partial_bytes) const {
  if (block_rows > 0) {
    const int64_t cycles = block_cycles(operand_bytes);
    return cycles > 0 ? std::max<int64_t>(1, block_rows * block_depth * block_columns / cycles) : 0;
  }
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
  const std::vector<std::string_view> words = split(text);
  Machine machine;
  bool changed = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const size_t equals = word.find('=');
    if (equals == word.npos) {
      if (i == 0 && word.find_first_of("./") != word.npos) {
        machine = read_machine_file(std::string(word));
        continue;
      }
      const Machine* base = i == 0 ? find_machine(word) : nullptr;
      if (!base) {
        std::vector<std::string> names;
        for (const Machine& m : table()) names.push_back(m.name);
        const std::string hint = did_you_mean(std::string(word), names);
        throw Error(word.empty()
                        ? std::string("machine: a name or KEY=VALUE is missing")
                        : fmt::format("machine: unknown machine `{}`{}", word, hint.empty() ? "" : "; " + hint),
                    {fmt::format("machines: {}, or a path of a description, `./my.machine`; then constants as "
                                 "KEY=VALUE: \"mk2,tiles=736,clock=1.5G\"",
                                 join_texts(names, ", "))},
                    Fault::usage);
      }
      machine = *base;
    } else {
      if (i == 0) machine = *find_machine(default_machine);
      const MachineField& field = find_field(word.substr(0, equals));
      const int64_t value = parse_number(field.key, word.substr(equals + 1));
      if (value < field.min || value > field.max)
        throw Error(fmt::format("machine: {} is {}, but must be in {}..{}", field.key, value, field.min, field.max), {},
                    Fault::usage);
      machine.*field.field = value;
      machine.given[static_cast<size_t>(&field - fields)] = {true, "changed for this report"};
      changed = true;
    }
  }
  if (const std::string lacks = complete_machine(machine); !lacks.empty())
    throw Error("machine: " + lacks, {}, Fault::usage);
  if (changed) machine.name = std::string(text);
  return machine;
}

namespace {
Machine& machine_of_process() {
  static auto& machine = never_destroyed([] {
    const std::string text = setting(Setting::machine);
    return parse_machine(text.empty() ? default_machine : std::string_view(text));
  }());
  return machine;
}
}  // namespace

const Machine& standard_machine() { return machine_of_process(); }
void set_standard_machine(Machine machine) { machine_of_process() = std::move(machine); }

}  // namespace pxl::tiles
