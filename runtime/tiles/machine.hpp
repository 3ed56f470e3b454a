// Machines of the tile model: one row of constants each, with the names of Poplar's IPUModel where it has one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pxl::tiles {

/// An IPU. Sizes are in bytes, times in tile cycles, rates per tile and cycle unless stated otherwise.
struct Machine {
  std::string name;        ///< "bow"
  std::string chip;        ///< "Bow IPU"
  int64_t tiles = 0;       ///< exposed to programs
  int64_t workers = 0;     ///< contexts per tile; each issues once in `workers` cycles
  int64_t memory = 0;      ///< of a tile
  int64_t executable = 0;  ///< part of `memory` that instructions can run from
  int64_t clock = 0;       ///< Hz

  int64_t exchange_bytes = 0;       ///< received per cycle, and sent per cycle at the same time
  int64_t exchange_pair_bytes = 0;  ///< received per cycle if both tiles of a pair receive the same data
  int64_t exchange_efficiency = 0;  ///< percent of the cycles of an exchange's schedule that move payload
  int64_t exchange_latency = 0;     ///< from the first send to the first receive
  int64_t exchange_entry = 0;       ///< phase overhead beyond the scheduled transfers
  int64_t exchange_fragment = 0;    ///< minimum cycles per slice that is contiguous on both sides
  int64_t sync = 0;                 ///< synchronisation of all tiles

  int64_t units_f16_f16 = 0;  ///< accumulating units per tile: float16 operands, float16 partial sums
  int64_t units_f16_f32 = 0;  ///< float16 operands, float32 partial sums
  int64_t units_f32 = 0;      ///< float32 operands and partial sums
  int64_t units_f8 = 0;       ///< float8 operands, float16 partial sums; 0: none
  int64_t weight_bytes = 0;   ///< coefficients loaded per cycle

  int64_t vector_bytes = 0;      ///< arithmetic vector: four float16, two float32
  int64_t load_store_bytes = 0;  ///< loaded and stored per cycle by all ports
  int64_t memcpy_bytes = 0;      ///< copied per cycle

  int64_t host_bytes = 0;     ///< host link, per second, whole chip
  int64_t runtime_bytes = 0;  ///< reserved on each tile: stacks, runtime state, profiling
  int64_t gap_percent = 0;    ///< of the variables: lost to alignment and element constraints

  int64_t memory_of_chip() const { return tiles * memory; }
  /// Multiply-accumulates per tile and cycle, by bytes of an operand's element and of a partial sum.
  int64_t macs(int64_t operand_bytes, int64_t partial_bytes) const;
  /// Accumulating units for operands and partial sums of these sizes.
  int64_t units(int64_t operand_bytes, int64_t partial_bytes) const;
  int64_t vector_elements(int64_t element_bytes) const;
  /// Converts cycles to microseconds.
  double microseconds(int64_t cycles) const;
};

/// A constant of a machine, settable as `key=value`, with the source of its values.
struct MachineField {
  std::string_view key;  ///< "tiles"
  int64_t Machine::*field;
  std::string_view unit;  ///< "bytes"
  std::string_view doc;
  std::string_view source;  ///< of the built-in machines' values
  int64_t min, max;         ///< accepted range, inclusive
};
std::span<const MachineField> machine_fields();

/// The built-in machines: mk1, mk2, bow, c600.
std::span<const Machine> machine_table();
inline constexpr std::string_view default_machine = "bow";

/// Parses "mk2", "bow,tiles=736,clock=2e9" or "memory=1M" (on the default machine). Numbers may be written as 1.85e9 or
/// end in k, M, G (powers of ten), Ki, Mi, Gi. Throws a usage Error that names the invalid word, with suggestions.
Machine parse_machine(std::string_view text);
/// What PXL_MACHINE in the environment says, or the default machine.
const Machine& standard_machine();

}  // namespace pxl::tiles
