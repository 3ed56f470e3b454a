// A step of data-parallel training takes the time of its IPUs' items, a serial part, and a collective for the
// gradients. The smallest system's figure yields the time of an item. Only BERT has a serial part (ramps of its
// pipeline, optimiser). Both figures of its phase 1 yield the serial part.
#include "tests/model/published/published_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/tiles/costs/links.hpp"

namespace pxl::tiles {

namespace {

constexpr std::string_view results = "Graphcore, performance results";

constexpr ScalingMeasurement scaling_table[] = {
    {"ResNet-50", 16, 1920, 42029, true},
    {"ResNet-50", 64, 2560, 145287, true},
    {"ResNet-50", 256, 10240, 425514, true},
    {"EfficientNet-B4, groups of 16", 16, 6144, 8936, true},
    {"EfficientNet-B4, groups of 16", 64, 6144, 34943, false},
    {"EfficientNet-B4, groups of 16", 256, 6144, 117641, false},
    {"BERT-Large phase 1, packed", 16, 54784, 6044, true},
    {"BERT-Large phase 1, packed", 64, 54784, 22759, true},
    {"BERT-Large phase 2, packed", 16, 9600, 2126, true},
    {"BERT-Large phase 2, packed", 64, 9600, 7789, false},
    {"BERT-Large phase 1, packed, PyTorch", 16, 56064, 5592, true},
    {"BERT-Large phase 1, packed, PyTorch", 64, 56064, 18494, false},
};

/// Parameters, and the IPUs of a replica, among which the parameters are divided. Gradients are float16.
struct TrainedModel {
  std::string_view name;  ///< beginning of ScalingMeasurement::model
  double parameters;
  int64_t ipus;
};
constexpr TrainedModel trained_models[] = {
    {"ResNet-50", 25'557'032, 1},
    {"EfficientNet-B4", 19'341'616, 1},
    {"BERT-Large", 336'226'108, 4},
};

const TrainedModel& model_of(std::string_view name) {
  for (const TrainedModel& m : trained_models)
    if (name.starts_with(m.name)) return m;
  return trained_models[0];
}

double gradient_seconds(const ScalingMeasurement& m) {
  const Links links;
  const TrainedModel& model = model_of(m.model);
  const CollectiveShape shape{static_cast<int64_t>(2 * model.parameters / static_cast<double>(model.ipus)),
                              m.ipus / model.ipus, model.ipus, 2};
  return collective_seconds(links, shape) +
         (leaves_rack(links, shape) ? static_cast<double>(links.rack_time) * 1e-9 : 0);
}

double step_seconds(const ScalingMeasurement& m) { return static_cast<double>(m.batch) / m.figure; }
double items_of_ipu(const ScalingMeasurement& m) { return static_cast<double>(m.batch) / static_cast<double>(m.ipus); }

/// The rest of a step if its items and gradients take no time. Two systems determine it.
double bert_serial_seconds() {
  const auto of = [](int64_t ipus) -> const ScalingMeasurement& {
    return *std::find_if(std::begin(scaling_table), std::end(scaling_table), [&](const ScalingMeasurement& m) {
      return m.model == "BERT-Large phase 1, packed" && m.ipus == ipus;
    });
  };
  const ScalingMeasurement &small = of(16), &large = of(64);
  const double a = step_seconds(small) - gradient_seconds(small), b = step_seconds(large) - gradient_seconds(large);
  return (b * items_of_ipu(small) - a * items_of_ipu(large)) / (items_of_ipu(small) - items_of_ipu(large));
}

double serial_seconds(std::string_view model) { return model.starts_with("BERT") ? bert_serial_seconds() : 0.0; }

}  // namespace

std::span<const ScalingMeasurement> scaling_measurements() { return scaling_table; }

double ScalingMeasurement::predicted() const {
  const ScalingMeasurement& smallest = *std::find_if(std::begin(scaling_table), std::end(scaling_table),
                                                     [&](const ScalingMeasurement& m) { return m.model == model; });
  const double serial = serial_seconds(model);
  const double item = (step_seconds(smallest) - gradient_seconds(smallest) - serial) / items_of_ipu(smallest);
  return static_cast<double>(batch) / (item * items_of_ipu(*this) + serial + gradient_seconds(*this));
}

double ScalingMeasurement::error_percent() const { return 100 * (predicted() - figure) / figure; }

std::string scaling_text() {
  std::string text =
      "\n| training | IPUs | batch | published, items/s | model | error | | source |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const ScalingMeasurement& m : scaling_table) {
    const double error = m.error_percent();
    text += fmt::format("| {} | {} | {} | {:.0f} | {:.0f} | {:+.1f} % | {} | {} |\n", m.model, m.ipus, m.batch,
                        m.figure, m.predicted(), std::abs(error) < 0.05 ? 0.0 : error,
                        m.calibrated ? "calibrated" : "held out", results);
  }
  return text;
}

}  // namespace pxl::tiles
