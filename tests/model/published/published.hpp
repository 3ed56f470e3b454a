// Published measurements of IPUs and the model's predictions, with their sources. The model's constants were fitted
// only to the entries marked as calibrated. The other entries were seen while the model was built.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pxl::tiles {

struct ReferenceMeasurement {
  std::string_view id;  ///< "qk_f16"
  std::string_view what;
  std::string_view machine;  ///< the machine that the prediction uses
  std::string_view unit;
  double figure, max_figure;  ///< a range if the source gives one, else equal
  double tolerance;  ///< percent: maximum error of a calibrated entry; 0: the model was not fitted to the entry
  std::string_view source;
  double (*predict)();
  /// The kind of a prediction.
  enum class Of : uint8_t {
    formula,   ///< a formula: of a vertex, an exchange, a size
    planned,   ///< the planner's choice for a program
    identity,  ///< the constants of a machine, multiplied
    unstated,  ///< as planned, but the source does not state the programs: shown, but not counted
  } of = Of::formula;
  bool calibrated() const { return tolerance > 0; }
  /// Error of a prediction in percent: positive above the figure (or its range), negative below.
  double error_percent(double predicted) const;
};
std::span<const ReferenceMeasurement> reference_measurements();

/// [rows, 16] x [16, 16] in float16 on each tile of a Bow IPU.
struct AmpPoint {
  int64_t rows;
  int64_t gigaflops;  ///< measured, whole chip
  double measured_cycles() const;
  int64_t predicted_cycles() const;
  double error_percent() const;  ///< of the prediction
};
std::span<const AmpPoint> amp_points();
struct AmpErrors {
  double mean = 0, largest = 0;  ///< of absolute errors, in percent
  int64_t rows = 0;              ///< at the largest error
};
AmpErrors amp_errors();

/// Tables as Markdown: figure, prediction and error of formulas, planned programs and identities. `points` adds each
/// point of amp_points.
std::string validation_text(bool points);

}  // namespace pxl::tiles
