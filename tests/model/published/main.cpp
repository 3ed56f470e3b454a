// Prints the tile model's prediction and its error for each published figure; `--points`: every point of the matrix
// unit.
#include <cstdio>
#include <string_view>

#include "tests/model/published/published.hpp"
#include "tests/model/published/published_scaling.hpp"

int main(int argc, char** argv) {
  const bool points = argc > 1 && std::string_view(argv[1]) == "--points";
  std::fputs((pxl::tiles::validation_text(points) + pxl::tiles::scaling_text()).c_str(), stdout);
}
