// The standard's backend tests: folders with a model, its inputs and its expected outputs.
#pragma once

#include <string>
#include <vector>

namespace pxl::cli {

struct OnnxOutcome {
  enum Kind { passed, failed, skipped } kind = passed;
  std::string reason;  ///< why the case failed or was skipped
};

/// Folders that contain model.onnx, at or below a folder, sorted.
std::vector<std::string> onnx_cases(const std::string& folder);
/// Runs all data sets of a case. Outputs must have the expected dtype and shape, and their values must be within atol +
/// rtol |expected|.
OnnxOutcome run_onnx_case(const std::string& folder, double rtol, double atol);

}  // namespace pxl::cli
