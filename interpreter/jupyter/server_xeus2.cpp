#include "interpreter/jupyter/server.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <xeus/xserver_zmq.hpp>
#include <xeus/xzmq_serializer.hpp>

#include "interpreter/jupyter/refusals.hpp"
#include "interpreter/jupyter/request.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/standard_streams.hpp"

namespace pxl::jupyter {

using nlohmann::json;

namespace {

constexpr std::string_view delimiter = "<IDS|MSG>";
constexpr size_t signed_parts = 4;    // header, parent header, metadata, content
constexpr size_t max_parts = 10'000;  // identities and buffers are few

/// Whether xeus can take the parts for its own: it reads them uncounted.
bool has_parts(zmq::multipart_t& message) {
  if (message.size() > max_parts) return false;
  size_t at = 0;
  const auto is_delimiter = [&](size_t i) {
    return std::string_view(message.at(i).data<char>(), message.at(i).size()) == delimiter;
  };
  while (at < message.size() && !is_delimiter(at)) ++at;
  return message.size() >= at + 2 + signed_parts;
}

std::atomic<bool> closing = false;

class Server final : public xeus::xserver_zmq {
 public:
  Server(zmq::context_t& context, const xeus::xconfiguration& configuration, json::error_handler_t errors)
      : xserver_zmq(context, configuration, errors),
        authentication_(xeus::make_xauthentication(configuration.m_signature_scheme, configuration.m_key)) {}

 private:
  void start_impl(xeus::xpub_message message) override {
    start_publisher_thread();
    start_heartbeat_thread();
    m_request_stop = false;
    refusals_.begin(message);
    publish(std::move(message), xeus::channel::SHELL);
    while (!m_request_stop) {
      std::array<zmq::pollitem_t, 2> items = {{{m_controller, 0, ZMQ_POLLIN, 0}, {m_shell, 0, ZMQ_POLLIN, 0}}};
      // The C function, since an interrupt must not throw.
      const int ready = zmq_poll(items.data(), static_cast<int>(items.size()), refusals_.patience());
      if (ready == 0) refusals_.waited();
      if (ready < 0) {
        if (errno == ETERM) break;
        if (errno == EINTR) clear_interrupt();
        continue;
      }
      if (items[0].revents & ZMQ_POLLIN)
        handle(m_controller, xeus::channel::CONTROL,
               [this](xeus::xmessage m) { notify_control_listener(std::move(m)); });
      if (!m_request_stop && (items[1].revents & ZMQ_POLLIN))
        handle(m_shell, xeus::channel::SHELL, [this](xeus::xmessage m) { notify_shell_listener(std::move(m)); });
    }
    closing = true;
    stop_channels();
    std::exit(0);  // as xeus does
  }

  // After an error in a cell. Xeus would answer the queued requests itself, without `aborted` and `idle`.
  void abort_queue_impl(const listener&, long) override { refusals_.abort_cells(); }

  void handle(zmq::socket_t& socket, xeus::channel channel, const listener& use) {
    zmq::multipart_t message;
    try {
      if (!message.recv(socket, ZMQ_DONTWAIT)) return;
      if (!has_parts(message)) throw std::runtime_error("it has too few or too many parts");
      xeus::xmessage request = xeus::xzmq_serializer::deserialize(message, *authentication_);
      if (const std::string problem = message_problem(request); !problem.empty()) throw std::runtime_error(problem);
      const std::string problem = content_problem(request);
      if (refusals_.refuse(*this, channel, request, problem)) return;
      if (!problem.empty()) throw std::runtime_error(problem);
      use(std::move(request));
    } catch (const std::exception& error) {
      print_err("pxl-kernel: dropped a message: {}\n", error.what());
    }
  }

  Refusals refusals_;
  std::unique_ptr<xeus::xauthentication> authentication_;
};

}  // namespace

std::unique_ptr<xeus::xcontext> make_context() { return xeus::make_context<zmq::context_t>(); }

bool is_closing() { return closing; }

std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& configuration,
                                           json::error_handler_t errors) {
  return std::make_unique<Server>(context.get_wrapped_context<zmq::context_t>(), configuration, errors);
}

}  // namespace pxl::jupyter
