// Published throughput of IPU systems, and the predictions of the links' constants.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pxl::tiles {

/// Training on a Bow Pod with `ipus` IPUs.
struct ScalingMeasurement {
  std::string_view model;  ///< "ResNet-50"
  int64_t ipus;
  int64_t batch;    ///< items per step
  double figure;    ///< items per second
  bool calibrated;  ///< the constants of the links, or of this training, were fitted to the figure
  double predicted() const;
  double error_percent() const;
};
std::span<const ScalingMeasurement> scaling_measurements();

/// Maximum error of a calibrated figure, in percent. Constants are rounded.
inline constexpr double scaling_tolerance = 0.1;

/// The table as Markdown.
std::string scaling_text();

}  // namespace pxl::tiles
