#include "interpreter/jupyter/process.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <xeus/xkernel.hpp>
#include <xeus/xkernel_configuration.hpp>

#include "interpreter/jupyter/history.hpp"
#include "interpreter/jupyter/kernel.hpp"
#include "interpreter/jupyter/server.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/limits/signals.hpp"
#include "runtime/kernels/libraries.hpp"

namespace pxl::jupyter {
namespace {

void on_interrupt(int) { request_interrupt(); }

}  // namespace

int run_process(int argc, char** argv) {
  prepare_libraries();
  prepare_standard_streams();
  if (argc != 3 || std::string_view(argv[1]) != "-f") {
    write_err("usage: pxl-kernel -f CONNECTION_FILE\n");
    return 2;
  }
  try {
    const xeus::xconfiguration configuration = xeus::load_configuration(argv[2]);
    handle_interrupts(on_interrupt);
    const char* user = getenv("USER");
    xeus::xkernel kernel(configuration, user ? user : "user", make_context(), std::make_unique<Kernel>(), make_server,
                         make_history(), nullptr, xeus::make_null_debugger, nlohmann::json::object(),
                         nlohmann::json::error_handler_t::replace);
    kernel.start();
  } catch (const std::exception& error) {
    print_err("pxl-kernel: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace pxl::jupyter
