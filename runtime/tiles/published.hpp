// Published measurements of IPUs beside what the model predicts for them. Facts with their sources; the constants of
// the model were fitted to those marked as calibrated and to no others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pxl::tiles {

struct Published {
  std::string_view id;  ///< "qk_f16"
  std::string_view what;
  std::string_view machine;  ///< the model's machine that predicts it
  std::string_view unit;
  double figure, most;  ///< a range where a source gives one; else equal
  double tolerance;     ///< percent; what a calibrated figure must hold, 0 for those held out
  std::string_view source;
  double (*predict)();
  bool calibrated() const { return tolerance > 0; }
  /// Percent, by which a prediction is above the figure (or its range) or below it.
  double error_percent(double predicted) const;
};
std::span<const Published> published_table();

/// [rows, 16] x [16, 16] in float16 on every tile of a Bow IPU.
struct AmpPoint {
  int64_t rows;
  int64_t gigaflops;  ///< as measured, whole chip
  double measured_cycles() const;
  int64_t predicted_cycles() const;
  double error_percent() const;  ///< of the prediction
};
std::span<const AmpPoint> amp_points();
struct AmpErrors {
  double mean = 0, largest = 0;  ///< of absolute errors, percent
  int64_t rows = 0;              ///< where it is largest
};
AmpErrors amp_errors();

/// The table as Markdown: each figure, the prediction and the error. `points`: also every one of amp_points.
std::string validation_text(bool points);

}  // namespace pxl::tiles
