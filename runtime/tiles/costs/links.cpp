#include "runtime/tiles/costs/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl::tiles {

namespace {

constexpr int64_t max_rate = int64_t{1} << 50, max_time = 1'000'000'000'000;
constexpr LinkField link_table[] = {
    {"chips_per_machine", &Links::chips_per_machine, "", "IPUs of a machine", "Graphcore, Bow-2000 data sheet", 1,
     4096},
    {"machines_per_rack", &Links::machines_per_rack, "", "machines of a rack, joined by IPU-Links",
     "Graphcore, Bow Pod64 data sheet", 1, 4096},
    {"link_bytes", &Links::link_bytes, "bytes/s", "of an IPU in a collective within a rack",
     "fitted to ResNet-50 on Bow Pod16 and Pod64, Graphcore's performance results; 320 GB/s are published for all ten "
     "links of an IPU",
     1000, max_rate},
    {"link_latency", &Links::link_latency, "ns", "of a message", "an assumption: none is published", 0, max_time},
    {"gateway_bytes", &Links::gateway_bytes, "bytes/s", "of a machine to other racks: two ports of 100 Gb/s",
     "Graphcore, switched GW-Links", 1000, max_rate},
    {"rack_time", &Links::rack_time, "ns", "of a run whose collectives leave their rack, besides the bytes",
     "fitted to ResNet-50 on Bow Pod256; the gateways' rate explains 0.2 of these 6.4 ms", 0, max_time},
    {"remote_bytes", &Links::remote_bytes, "bytes/s", "of an IPU from and to remote memory; 0: not known",
     "none is published: give one", 0, max_rate},
};

int64_t parse_value(const LinkField& field, std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || std::floor(value) != value ||
      !(value >= static_cast<double>(field.min) && value <= static_cast<double>(field.max)))
    throw Error(
        fmt::format("links: {}: expected a whole number in {}..{}, got `{}`", field.key, field.min, field.max, text),
        {"numbers may be written as 28.7e9"}, Fault::usage);
  return static_cast<int64_t>(value);
}

int64_t members_per_rack(const Links& links, const CollectiveShape& shape) {
  return std::clamp<int64_t>(links.chips_per_rack() / std::max<int64_t>(1, shape.spacing), 1, shape.members);
}

/// Seconds of `passes` over a ring.
double ring_seconds(int64_t passes, int64_t members, double bytes, int64_t rate, int64_t latency_ns) {
  if (members < 2) return 0;
  const auto n = static_cast<double>(members), times = static_cast<double>(passes);
  const auto messages = static_cast<double>(std::bit_width(static_cast<uint64_t>(members - 1)));
  return times * ((n - 1) / n * bytes / static_cast<double>(rate) + messages * static_cast<double>(latency_ns) * 1e-9);
}

}  // namespace

std::span<const LinkField> link_fields() { return link_table; }

Links parse_links(std::string_view text) {
  Links links;
  std::vector<std::string> keys;
  for (const LinkField& f : link_table) keys.emplace_back(f.key);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string word(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals);
    const auto field =
        std::find_if(std::begin(link_table), std::end(link_table), [&](const LinkField& f) { return f.key == key; });
    if (field == std::end(link_table) || equals == word.size()) {
      const std::string hint = did_you_mean(key, keys);
      throw Error(fmt::format("links: expected KEY=VALUE, got `{}`{}", word, hint.empty() ? "" : "; " + hint),
                  {fmt::format("constants: {}", join_texts(keys, ", "))}, Fault::usage);
    }
    links.*field->field = parse_value(*field, word.substr(equals + 1));
  }
  return links;
}

bool leaves_rack(const Links& links, const CollectiveShape& shape) {
  return members_per_rack(links, shape) < shape.members;
}

double collective_seconds(const Links& links, const CollectiveShape& shape) {
  const int64_t here = members_per_rack(links, shape), racks = (shape.members + here - 1) / here;
  const auto bytes = static_cast<double>(shape.bytes);
  const double within = ring_seconds(shape.passes, here, bytes, links.link_bytes, links.link_latency);
  // All IPUs of a machine send their shares through its gateway.
  const double shares = bytes / static_cast<double>(here) * static_cast<double>(links.chips_per_machine);
  return within + ring_seconds(shape.passes, racks, shares, links.gateway_bytes, links.link_latency);
}

}  // namespace pxl::tiles
