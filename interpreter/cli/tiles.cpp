// `pxl validate-model`: compares the tile model with published figures.
#include <fmt/format.h>

#include "interpreter/cli/command.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/tiles/published/published.hpp"
#include "runtime/tiles/published/published_scaling.hpp"

namespace pxl::cli {

namespace {

int run_validate_model(const CommonFlags&, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(validate_model_command, arguments);
  if (!call.operands.empty())
    throw Error(fmt::format("validate-model: unexpected argument `{}`", call.operands.front()),
                {"usage: pxl validate-model [--points]"}, Fault::usage);
  write_out(tiles::validation_text(call.has("--points")) + tiles::scaling_text());
  return exit_ok;
}

constexpr Flag validate_flags[] = {{"--points", "", "include every measured point of the matrix unit"}};

}  // namespace

const Command validate_model_command{"validate-model",
                                     "validate-model [--points]",
                                     "compare the tile model with published figures",
                                     run_validate_model,
                                     validate_flags,
                                     "Prints the model's prediction and its error for each published figure."};

}  // namespace pxl::cli
