#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <xeus-zmq/xserver_zmq.hpp>
#include <xeus-zmq/xzmq_context.hpp>

#include "interpreter/jupyter/refusals.hpp"
#include "interpreter/jupyter/request.hpp"
#include "interpreter/jupyter/server.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/standard_streams.hpp"

namespace pxl::jupyter {

namespace {

std::atomic<bool> closing = false;

class Server final : public xeus::xserver_zmq {
 public:
  Server(xeus::xcontext& context, const xeus::xconfiguration& configuration, nlohmann::json::error_handler_t errors)
      : xserver_zmq(context, configuration, errors) {}

 private:
  void start_impl(xeus::xpub_message message) override {
    start_publisher_thread();
    start_heartbeat_thread();
    set_request_stop(false);
    refusals_.begin(message);
    publish(std::move(message), xeus::channel::SHELL);
    while (!is_stopped())
      if (auto received = next(refusals_.patience())) {
        auto& [request, from] = *received;
        from == xeus::channel::CONTROL ? notify_control_listener(std::move(request))
                                       : notify_shell_listener(std::move(request));
      }
    closing = true;
    stop_channels();
    std::exit(0);  // as xeus does
  }

  void stop_impl() override { set_request_stop(true); }

  // After an error in a cell. Xeus would answer the queued requests itself, without `aborted` and `idle`.
  void abort_queue_impl(const listener&, long) override { refusals_.abort_cells(); }

  /// A request to be handled, if one comes within so many milliseconds; -1 waits for ever.
  std::optional<message_channel> next(long milliseconds) {
    try {
      errno = 0;
      auto received = poll_channels(milliseconds);
      if (!received) return refusals_.waited(), std::nullopt;
      std::string problem = message_problem(received->first);
      if (problem.empty()) {
        problem = content_problem(received->first);
        if (refusals_.refuse(*this, received->second, received->first, problem)) return {};
        if (problem.empty()) return received;
      }
      print_err("pxl-kernel: dropped a message: {}\n", problem);
    } catch (const std::exception& error) {
      if (errno == EINTR)
        clear_interrupt();
      else
        print_err("pxl-kernel: dropped a message: {}\n", error.what());
    }
    return {};
  }

  Refusals refusals_;
};

}  // namespace

std::unique_ptr<xeus::xcontext> make_context() { return xeus::make_zmq_context(); }

bool is_closing() { return closing; }

std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& configuration,
                                           nlohmann::json::error_handler_t errors) {
  return std::make_unique<Server>(context, configuration, errors);
}

}  // namespace pxl::jupyter
