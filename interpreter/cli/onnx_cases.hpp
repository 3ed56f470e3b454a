// The standard's backend tests: folders with a model and the data that it takes and gives.
#pragma once

#include <string>
#include <vector>

namespace pxl::cli {

struct OnnxOutcome {
  enum Kind { passed, failed, skipped } kind = passed;
  std::string reason;  ///< why it failed or was skipped
};

/// Folders with a file model.onnx, at or below a folder, sorted.
std::vector<std::string> onnx_cases(const std::string& folder);
/// Runs all data sets of a case. Outputs must have the dtype and the shape, and be within atol + rtol |expected|.
OnnxOutcome run_onnx_case(const std::string& folder, double rtol, double atol);

}  // namespace pxl::cli
