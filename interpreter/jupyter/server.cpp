#include "interpreter/jupyter/server.hpp"

#include <cerrno>
#include <csignal>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <zmq.hpp>

#include "interpreter/jupyter/refusals.hpp"
#include "interpreter/jupyter/request.hpp"
#include "interpreter/jupyter/wire.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl::jupyter {

using nlohmann::json;

namespace {

constexpr int linger_ms = 1000;  // time for the last replies when the kernel ends

class Socket {
 public:
  Socket(zmq::context_t& context, int type, const xeus::xconfiguration& at, const std::string& port)
      : socket_(context, type) {
    socket_.set(zmq::sockopt::linger, linger_ms);
    socket_.bind(at.m_transport + "://" + at.m_ip + (at.m_transport == "tcp" ? ":" : "-") + port);
  }

  operator void*() { return socket_.handle(); }

  // Uses the functions of C, since an interrupt must not throw.
  void send(const Parts& parts) {
    for (size_t i = 0; i < parts.size(); ++i)
      while (zmq_send(*this, parts[i].data(), parts[i].size(), i + 1 < parts.size() ? ZMQ_SNDMORE : 0) < 0)
        if (errno != EINTR) throw std::runtime_error(zmq_strerror(errno));
  }

  /// Receives the parts of a message.
  Parts receive() {
    Parts parts;
    zmq::message_t part;
    do {
      while (zmq_msg_recv(part.handle(), *this, 0) < 0)
        if (errno != EINTR) throw std::runtime_error(zmq_strerror(errno));
      parts.push_back(part.to_string());
    } while (part.more());
    return parts;
  }

 private:
  zmq::socket_t socket_;
};

/// Echoes heartbeat messages on a separate thread, so that a client sees that the kernel is alive while a cell runs.
class Heartbeat {
 public:
  Heartbeat(zmq::context_t& context, const xeus::xconfiguration& at)
      : context_(context), socket_(context, ZMQ_ROUTER, at, at.m_hb_port), thread_([this] { run(); }) {}
  ~Heartbeat() {
    context_.shutdown();
    thread_.join();
  }

 private:
  void run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // an interrupt wakes the main thread
    zmq_proxy(socket_, socket_, nullptr);
  }

  zmq::context_t& context_;
  Socket socket_;
  std::thread thread_;
};

class Server final : public xeus::xserver, private xeus::xcontrol_messenger {
 public:
  Server(zmq::context_t& context, const xeus::xconfiguration& at, json::error_handler_t errors)
      : wire_(at, errors),
        shell_(context, ZMQ_ROUTER, at, at.m_shell_port),
        control_(context, ZMQ_ROUTER, at, at.m_control_port),
        stdin_(context, ZMQ_ROUTER, at, at.m_stdin_port),
        publisher_(context, ZMQ_PUB, at, at.m_iopub_port),
        heartbeat_(context, at) {}

 private:
  void start_impl(xeus::xpub_message message) override {
    stopped_ = false;
    refusals_.begin(message);
    publish_impl(std::move(message), xeus::channel::SHELL);
    while (!stopped_) {
      zmq_pollitem_t items[] = {{control_, 0, ZMQ_POLLIN, 0}, {shell_, 0, ZMQ_POLLIN, 0}};
      const int ready = zmq_poll(items, 2, refusals_.patience());
      if (ready == 0) refusals_.waited();
      if (ready < 0) clear_interrupt();
      if (ready <= 0) continue;
      if (items[0].revents)
        if (auto request = next(control_, xeus::channel::CONTROL)) notify_control_listener(std::move(*request));
      if (!stopped_ && items[1].revents)
        if (auto request = next(shell_, xeus::channel::SHELL)) notify_shell_listener(std::move(*request));
    }
  }

  void stop_impl() override { stopped_ = true; }

  /// Receives a request; nullopt if it is not to be handled.
  std::optional<xeus::xmessage> next(Socket& socket, xeus::channel channel) {
    try {
      xeus::xmessage request = wire_.decode(socket.receive());
      std::string problem = message_problem(request);
      if (problem.empty()) {
        problem = content_problem(request);
        if (refusals_.refuse(*this, channel, request, problem)) return {};
        if (problem.empty()) return request;
      }
      print_err("pxl-kernel: dropped a message: {}\n", problem);
    } catch (const std::exception& error) {
      print_err("pxl-kernel: dropped a message: {}\n", error.what());
    }
    return {};
  }

  // Called after an error in a cell. Xeus would answer the queued requests itself, without `aborted` and `idle`.
  void abort_queue_impl(const listener&, long) override { refusals_.abort_cells(); }

  void send_shell_impl(xeus::xmessage message) override { shell_.send(wire_.encode(message)); }
  void send_control_impl(xeus::xmessage message) override { control_.send(wire_.encode(message)); }
  void send_stdin_impl(xeus::xmessage message) override { stdin_.send(wire_.encode(message)); }
  void publish_impl(xeus::xpub_message message, xeus::channel) override { publisher_.send(wire_.encode(message)); }

  // Xeus requests it for debuggers, which the kernel does not support.
  xeus::xcontrol_messenger& get_control_messenger_impl() override { return *this; }
  json send_to_shell_impl(const json& message) override { return notify_internal_listener(message); }
  void update_config_impl(xeus::xconfiguration&) const override {}  // the connection file contains every port

  Wire wire_;
  Socket shell_, control_, stdin_, publisher_;
  Heartbeat heartbeat_;
  Refusals refusals_;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<xeus::xcontext> make_context() { return std::make_unique<xeus::xcontext_impl<zmq::context_t>>(); }

std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& configuration,
                                           json::error_handler_t errors) {
  return std::make_unique<Server>(context.get_wrapped_context<zmq::context_t>(), configuration, errors);
}

}  // namespace pxl::jupyter
