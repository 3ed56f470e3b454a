#include "interpreter/jupyter/server.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>
#include <xeus/xserver_zmq.hpp>
#include <xeus/xzmq_serializer.hpp>

#include "runtime/base/interrupt.hpp"
#include "runtime/base/standard_streams.hpp"

namespace pxl::jupyter {

using nlohmann::json;

namespace {

constexpr std::string_view delimiter = "<IDS|MSG>";
constexpr size_t signed_parts = 4;    // header, parent header, metadata, content
constexpr int max_depth = 100;        // maximum nesting of JSON: xeus serialises it recursively
constexpr size_t max_parts = 10'000;  // identities and buffers are few

/// Type of a member of a message, and whether it is optional.
struct Member {
  std::string_view name;
  json::value_t type;
  bool required = true;
};
using Members = std::vector<Member>;
using Type = json::value_t;

// https://jupyter-client.readthedocs.io/en/stable/messaging.html: the members that xeus reads of the header and of
// each request.
const Members header_members = {{"msg_id", Type::string},   {"session", Type::string},
                                {"username", Type::string}, {"date", Type::string, false},
                                {"msg_type", Type::string}, {"version", Type::string, false}};
struct Request {
  std::string_view type;
  Members members;
};
const Request requests[] = {
    {"execute_request",
     {{"code", Type::string},
      {"silent", Type::boolean, false},
      {"store_history", Type::boolean, false},
      {"user_expressions", Type::object, false},
      {"allow_stdin", Type::boolean, false},
      {"stop_on_error", Type::boolean, false}}},
    {"complete_request", {{"code", Type::string}, {"cursor_pos", Type::number_integer}}},
    {"inspect_request",
     {{"code", Type::string}, {"cursor_pos", Type::number_integer}, {"detail_level", Type::number_integer, false}}},
    {"history_request",
     {{"hist_access_type", Type::string},
      {"output", Type::boolean, false},
      {"raw", Type::boolean, false},
      {"session", Type::number_integer, false},
      {"start", Type::number_integer, false},
      {"stop", Type::number_integer, false},
      {"n", Type::number_integer, false},
      {"pattern", Type::string, false},
      {"unique", Type::boolean, false}}},
    {"is_complete_request", {{"code", Type::string}}},
    {"comm_info_request", {{"target_name", Type::string, false}}},
    {"comm_open", {{"comm_id", Type::string}, {"target_name", Type::string}, {"data", Type::object}}},
    {"comm_msg", {{"comm_id", Type::string}, {"data", Type::object}}},
    {"comm_close", {{"comm_id", Type::string}, {"data", Type::object}}},
    {"kernel_info_request", {}},
    {"shutdown_request", {{"restart", Type::boolean}}},
    {"interrupt_request", {}},
};

/// An integer of the protocol fits an int.
bool is_a(const json& value, json::value_t type) {
  if (type != Type::number_integer) return value.type() == type;
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= INT32_MAX;
  return value.is_number_integer() && value.get<int64_t>() >= INT32_MIN && value.get<int64_t>() <= INT32_MAX;
}

/// Why the object is invalid; empty if it is valid.
std::string problem_of(const json& value, const Members& members, std::string_view what) {
  for (const Member& m : members) {
    const auto found = value.find(m.name);
    if (found == value.end() ? m.required : !is_a(*found, m.type))
      return fmt::format("{}: `{}` is {}", what, m.name, found == value.end() ? "missing" : "of another type");
  }
  return {};
}

std::optional<json> parsed(const zmq::message_t& part) {
  bool shallow = true;
  const auto watch = [&](int depth, json::parse_event_t, json&) {
    shallow = shallow && depth <= max_depth;
    return shallow;
  };
  const char* const begin = part.data<char>();
  json value = json::parse(begin, begin + part.size(), watch, false);
  if (!shallow || !value.is_object()) return std::nullopt;
  return value;
}

/// Why a message is invalid; empty if it is valid.
std::string problem_of(zmq::multipart_t& message, const xeus::xauthentication& authentication) {
  if (message.size() > max_parts) return "too many parts";
  size_t at = 0;
  const auto is_delimiter = [&](size_t i) {
    return std::string_view(message.at(i).data<char>(), message.at(i).size()) == delimiter;
  };
  while (at < message.size() && !is_delimiter(at)) ++at;
  if (message.size() < at + 2 + signed_parts) return "too few parts";
  const auto raw = [&](size_t i) {
    const zmq::message_t& part = message.at(at + 1 + i);
    return xeus::xraw_buffer(part.data<const unsigned char>(), part.size());
  };
  if (!authentication.verify(raw(0), raw(1), raw(2), raw(3), raw(4))) return "wrong signature";
  std::array<json, signed_parts> parts;
  for (size_t i = 0; i < signed_parts; ++i) {
    std::optional<json> part = parsed(message.at(at + 2 + i));
    if (!part) return fmt::format("its part {} is not a JSON object", i + 1);
    parts[i] = std::move(*part);
  }
  const json &header = parts[0], &content = parts[3];
  if (std::string problem = problem_of(header, header_members, "header"); !problem.empty()) return problem;
  const std::string type = header["msg_type"];
  for (const Request& r : requests)
    if (r.type == type) return problem_of(content, r.members, type);
  return fmt::format("`{}` is not a request", type.substr(0, 40));
}

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
    publish(std::move(message), xeus::channel::SHELL);
    while (!m_request_stop) {
      std::array<zmq::pollitem_t, 2> items = {{{m_controller, 0, ZMQ_POLLIN, 0}, {m_shell, 0, ZMQ_POLLIN, 0}}};
      // The C function, since an interrupt must not throw.
      if (zmq_poll(items.data(), static_cast<int>(items.size()), -1) < 0) {
        if (errno == ETERM) break;
        if (errno == EINTR) clear_interrupt();
        continue;
      }
      if (items[0].revents & ZMQ_POLLIN)
        handle(m_controller, [this](xeus::xmessage m) { notify_control_listener(std::move(m)); });
      if (!m_request_stop && (items[1].revents & ZMQ_POLLIN))
        handle(m_shell, [this](xeus::xmessage m) { notify_shell_listener(std::move(m)); });
    }
    stop_channels();
    std::exit(0);  // as xeus does
  }

  // After an error in a cell: `abort` answers the queued requests.
  void abort_queue_impl(const listener& abort, long polling_interval) override {
    while (handle(m_shell, abort)) std::this_thread::sleep_for(std::chrono::milliseconds(polling_interval));
  }

  /// Receives one message, if there is one; returns false otherwise.
  bool handle(zmq::socket_t& socket, const listener& use) {
    zmq::multipart_t message;
    try {
      if (!message.recv(socket, ZMQ_DONTWAIT)) return false;
      std::string problem = problem_of(message, *authentication_);
      if (problem.empty())
        use(xeus::xzmq_serializer::deserialize(message, *authentication_));
      else
        print_err("pxl-kernel: dropped a message: {}\n", problem);
    } catch (const std::exception& error) {
      print_err("pxl-kernel: dropped a message: {}\n", error.what());
    }
    return true;
  }

  std::unique_ptr<xeus::xauthentication> authentication_;
};

}  // namespace

std::unique_ptr<xeus::xserver> make_server(xeus::xcontext& context, const xeus::xconfiguration& configuration,
                                           json::error_handler_t errors) {
  return std::make_unique<Server>(context.get_wrapped_context<zmq::context_t>(), configuration, errors);
}

}  // namespace pxl::jupyter
