// Machines of the tile model: their constants, named as in Poplar's IPUModel where it has one. Descriptions hold the
// values (machine_file.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pxl::tiles {

/// Tiles or cores with a memory each, and the network between them. Sizes are in bytes, times in tile cycles, and rates
/// per tile and cycle, unless stated otherwise.
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
  int64_t mesh_columns = 0;         ///< tiles in a row of a mesh; 0: every tile reaches every other one at full rate
  int64_t hop_latency = 0;          ///< from a tile of a mesh to its neighbour
  int64_t link_bytes = 0;           ///< per cycle, on a link between neighbours of a mesh, in each direction
  int64_t overlap = 0;  ///< percent of exchanges and second-level transfers that may run while tiles compute

  int64_t units_f16_f16 = 0;  ///< accumulating units per tile: float16 operands, float16 partial sums
  int64_t units_f16_f32 = 0;  ///< float16 operands, float32 partial sums
  int64_t units_f32 = 0;      ///< float32 operands and partial sums
  int64_t units_f8 = 0;       ///< float8 operands, float16 partial sums; 0: none
  int64_t weight_bytes = 0;   ///< coefficients loaded per cycle

  int64_t block_rows = 0;  ///< rows of a matrix unit that multiplies whole blocks; 0: accumulating units
  int64_t block_depth = 0, block_columns = 0;
  int64_t block_f32 = 0, block_f16 = 0, block_f8 = 0;  ///< cycles per block, by operands; block_f8 0: none
  int64_t block_load_bytes = 0;  ///< bytes of both operands, per cycle, while the preceding block is multiplied
  int64_t block_overhead = 0;    ///< cycles per block beyond its multiplication or load
  int64_t block_store = 0;       ///< cycles to store a block of the result
  int64_t product_cycles = 0;    ///< cycles of a product's vertex beyond its blocks

  int64_t vector_bytes = 0;      ///< arithmetic vector: four float16, two float32
  int64_t load_store_bytes = 0;  ///< loaded and stored per cycle by all ports
  int64_t memcpy_bytes = 0;      ///< copied per cycle
  int64_t pool_window = 50;      ///< cycles of a pool's window, besides its elements
  int64_t pool_visit = 7;        ///< cycles to begin a visit to an element of a window
  int64_t pool_vector = 3;       ///< cycles of each vector of such an element
  int64_t launch = 0;            ///< cycles to start an op

  int64_t dram_memory = 0;        ///< second memory level, whole chip; 0: none
  int64_t dram_bytes = 0;         ///< per second, whole chip, read or written
  int64_t dram_efficiency = 100;  ///< percent of this rate that is reached
  int64_t dram_transfer = 0;      ///< smallest transfer; smaller ones take as long
  int64_t dram_latency = 0;       ///< cycles until the first bytes of an op's operands arrive
  int64_t spill = 0;              ///< bytes of the second level per tile that a plan uses; not a constant
  int64_t limit = 0;              ///< bytes of a tile that a plan may use; 0: all of its memory; not a constant

  int64_t host_bytes = 0;     ///< host link, per second, whole chip
  int64_t host_latency = 0;   ///< nanoseconds of a transfer of any size
  int64_t runtime_bytes = 0;  ///< reserved on each tile: stacks, runtime state, profiling
  int64_t gap_percent = 0;    ///< of the variables: lost to alignment and element constraints

  int64_t memory_of_chip() const { return tiles * memory; }
  /// Bytes that a tile's tensors may take: its memory, and its share of the second level if the plan uses that.
  int64_t capacity() const { return usable() + spill; }
  int64_t usable() const { return limit > 0 ? limit : memory; }
  /// Whether the element order within a tile matters. Accumulating units read and write elements side by side. A matrix
  /// unit has blocks, and slices are read from the second level in any order.
  bool has_orders() const { return block_rows == 0 && spill == 0; }
  bool has_float8() const { return block_rows > 0 ? block_f8 > 0 : units_f8 > 0; }
  /// Cycles per block, by the bytes of an operand's element.
  int64_t block_cycles(int64_t operand_bytes) const;
  /// Multiply-accumulates per tile and cycle, by the bytes of an operand's element and a partial sum.
  int64_t macs(int64_t operand_bytes, int64_t partial_bytes) const;
  /// Accumulating units for operands and partial sums of these sizes.
  int64_t units(int64_t operand_bytes, int64_t partial_bytes) const;
  int64_t vector_elements(int64_t element_bytes) const;
  /// Converts cycles to microseconds.
  double microseconds(int64_t cycles) const;

  /// Entries by field of machine_fields(): whether the machine's description has the field, and the source of its
  /// value.
  struct Given {
    bool given = false;
    std::string source;
  };
  std::vector<Given> given;
};

enum class Presence : uint8_t { required, optional };
/// A constant of a machine: a line of its description, settable as `key=value`.
struct MachineField {
  std::string_view section;  ///< "tile"
  std::string_view key;      ///< "tiles"
  int64_t Machine::*field;
  std::string_view unit;  ///< "bytes"
  std::string_view doc;
  int64_t min, max;  ///< accepted range, inclusive
  Presence presence = Presence::required;
};
std::span<const MachineField> machine_fields();

/// The built-in machines, in the order of their names.
std::span<const Machine> machine_table();
inline constexpr std::string_view default_machine = "bow";

/// Parses "mk2", "bow,tiles=736,clock=2e9", "memory=1M" (on the default machine) or "my.machine,tiles=4". A first word
/// with a `.` or `/` is the path of a description. Numbers may be written as 1.85e9, or end in k, M, G (powers of ten),
/// Ki, Mi, Gi. Throws a usage Error that names the invalid word, with suggestions. Throws the errors of
/// read_machine_file.
Machine parse_machine(std::string_view text);
/// The machine in the environment variable PXL_MACHINE, or the default machine.
const Machine& standard_machine();
void set_standard_machine(Machine machine);

}  // namespace pxl::tiles
