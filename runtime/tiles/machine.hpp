// The machines of the tile model: one row of constants each, named as Poplar's IPUModel names them where it does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pxl::tiles {

/// An IPU. Sizes in bytes, times in tile cycles, rates per tile and cycle unless said otherwise.
struct Machine {
  std::string name;        ///< "bow"
  std::string chip;        ///< "Bow IPU"
  int64_t tiles = 0;       ///< exposed to programs
  int64_t workers = 0;     ///< contexts a tile; each issues once in that many cycles
  int64_t memory = 0;      ///< of a tile
  int64_t executable = 0;  ///< part of it that instructions run from
  int64_t clock = 0;       ///< Hz

  int64_t exchange_bytes = 0;       ///< received, and at the same time sent, a cycle
  int64_t exchange_pair_bytes = 0;  ///< received a cycle where both tiles of a pair receive the same
  int64_t exchange_efficiency = 0;  ///< percent of the cycles of an exchange's schedule that move payload
  int64_t exchange_latency = 0;     ///< from the start of sending to the start of receiving
  int64_t exchange_entry = 0;       ///< of a phase beyond its scheduled transfers
  int64_t exchange_fragment = 0;    ///< at least so many cycles for each piece that is contiguous on both sides
  int64_t sync = 0;                 ///< of all tiles

  int64_t units_f16_f16 = 0;  ///< accumulating units of a tile: half operands, half partial sums
  int64_t units_f16_f32 = 0;  ///< half operands, float partial sums
  int64_t units_f32 = 0;      ///< float operands and partial sums
  int64_t units_f8 = 0;       ///< quarter operands, half partial sums; 0: there are none
  int64_t weight_bytes = 0;   ///< of coefficients loaded a cycle

  int64_t vector_bytes = 0;      ///< of the arithmetic vector: four halves, two floats
  int64_t load_store_bytes = 0;  ///< loaded and stored a cycle by all ports
  int64_t memcpy_bytes = 0;      ///< copied a cycle

  int64_t host_bytes = 0;     ///< of the host link a second, whole chip
  int64_t runtime_bytes = 0;  ///< of each tile that programs do not get: stacks, runtime state, profiling
  int64_t gap_percent = 0;    ///< of the variables, lost to alignment and element constraints

  int64_t memory_of_chip() const { return tiles * memory; }
  /// Multiply-accumulates of a tile a cycle, by bytes of an operand's element and of a partial sum's.
  int64_t macs(int64_t operand_bytes, int64_t partial_bytes) const;
  /// Units that take operands and partial sums of those sizes.
  int64_t units(int64_t operand_bytes, int64_t partial_bytes) const;
  int64_t vector_elements(int64_t element_bytes) const;
  /// Microseconds of a number of cycles.
  double microseconds(int64_t cycles) const;
};

/// A constant of a machine: what `key=value` sets, and where its values come from.
struct MachineField {
  std::string_view key;  ///< "tiles"
  int64_t Machine::*field;
  std::string_view unit;  ///< "bytes"
  std::string_view doc;
  std::string_view source;  ///< of the built-in machines' values
  int64_t least, most;      ///< values that make sense
};
std::span<const MachineField> machine_fields();

/// The built-in machines: mk1, mk2, bow, c600.
std::span<const Machine> machine_table();
inline constexpr std::string_view default_machine = "bow";

/// "mk2", "bow,tiles=736,clock=2e9", "memory=1M" (on the default machine). Numbers may end in k, M, G (powers of ten),
/// Ki, Mi, Gi, or be written as 1.85e9. Throws Error naming the word at fault, with suggestions.
Machine parse_machine(std::string_view text);

}  // namespace pxl::tiles
