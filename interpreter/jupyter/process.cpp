#include "interpreter/jupyter/process.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <xeus/xkernel.hpp>
#include <xeus/xkernel_configuration.hpp>

#include "interpreter/jupyter/history.hpp"
#include "interpreter/jupyter/kernel.hpp"
#include "interpreter/jupyter/server.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/signals.hpp"
#include "runtime/base/standard_streams.hpp"
#include "runtime/kernels/libraries.hpp"

namespace pxl::jupyter {
namespace {

void on_interrupt(int) { request_interrupt(); }

// When a kernel is shut down, xeus closes sockets under the feet of its own threads. There is nothing left to save
// then, and their exceptions say nothing that concerns a user.
[[noreturn]] void on_terminate() {
  if (is_closing()) std::_Exit(0);
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    print_err("pxl-kernel: {}\n", error.what());
  }
  std::_Exit(1);
}

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
    std::set_terminate(on_terminate);
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
