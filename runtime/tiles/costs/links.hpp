// Machines with several IPUs: the constants of their links, and the cost of collectives.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pxl::tiles {

/// Links between IPUs: within a rack, through the gateways of machines between racks, and to remote memory.
struct Links {
  int64_t chips_per_machine = 4;
  int64_t machines_per_rack = 16;
  int64_t link_bytes = 28'700'000'000;     ///< per second and IPU, in a collective within a rack
  int64_t link_latency = 0;                ///< ns per message
  int64_t gateway_bytes = 25'000'000'000;  ///< per second and machine, between racks
  int64_t rack_time = 6'250'000;           ///< ns per run with collectives that leave their rack, besides the bytes
  int64_t remote_bytes = 0;                ///< per second and IPU; 0: not known

  int64_t chips_per_rack() const { return chips_per_machine * machines_per_rack; }
};

/// A constant of the links, settable as `key=value`, with the source of its value.
struct LinkField {
  std::string_view key;  ///< "link_bytes"
  int64_t Links::*field;
  std::string_view unit, doc, source;
  int64_t min, max;  ///< accepted range, inclusive
};
std::span<const LinkField> link_fields();

/// Parses "link_bytes=32e9,remote_bytes=2e10". Throws a usage Error that names the invalid word, with suggestions.
Links parse_links(std::string_view text);

/// A collective over `members` replicas. One IPU of each replica takes part.
struct CollectiveShape {
  int64_t bytes = 0;    ///< bytes of a reduction's operand, or of a gather's result
  int64_t members = 1;  ///< per group
  int64_t spacing = 1;  ///< IPUs between neighbours: the IPUs of a replica, times the group's stride
  int64_t passes = 2;   ///< over the bytes: 2 for an all-reduce, 1 for its halves
};
/// Whether members are in several racks.
bool leaves_rack(const Links& links, const CollectiveShape& shape);
/// Seconds of a collective, without Links::rack_time. Rings run within racks. Each member then exchanges its share with
/// the corresponding members of other racks.
double collective_seconds(const Links& links, const CollectiveShape& shape);

}  // namespace pxl::tiles
