#include "interpreter/jupyter/refusals.hpp"

#include <algorithm>
#include <utility>

namespace pxl::jupyter {

using nlohmann::json;

void Refusals::begin(const xeus::xpub_message& status) {
  topic_ = status.topic();
  user_ = status.header().value("username", "");
  session_ = status.header().value("session", "");
}

void Refusals::abort_cells() {
  aborting_ = true;
  end_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
}

long Refusals::patience() const {
  if (!aborting_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
  return std::max<long>(0, left.count());
}

bool Refusals::refuse(xeus::xserver& server, xeus::channel channel, const xeus::xmessage& request,
                      const std::string& problem) {
  const std::string type = request.header().value("msg_type", "");
  constexpr std::string_view suffix = "_request";
  if (problem.empty() ? !(aborting_ && type == "execute_request") : !type.ends_with(suffix)) return false;
  json content = {{"status", problem.empty() ? "aborted" : "error"},
                  {"ename", problem.empty() ? "Aborted" : "InvalidRequest"},
                  {"evalue", problem.empty() ? "not executed, since a cell before has failed" : problem},
                  {"traceback", json::array()}};
  const std::string reply = type.substr(0, type.size() - suffix.size()) + "_reply";
  xeus::xmessage answer(request.identities(), xeus::make_header(reply, user_, session_), request.header(),
                        json::object(), std::move(content), {});
  publish(server, channel, request, "busy");
  channel == xeus::channel::SHELL ? server.send_shell(std::move(answer)) : server.send_control(std::move(answer));
  publish(server, channel, request, "idle");
  return true;
}

void Refusals::publish(xeus::xserver& server, xeus::channel channel, const xeus::xmessage& request,
                       const char* state) const {
  server.publish(xeus::xpub_message(topic_, xeus::make_header("status", user_, session_), request.header(),
                                    json::object(), {{"execution_state", state}}, {}),
                 channel);
}

}  // namespace pxl::jupyter
