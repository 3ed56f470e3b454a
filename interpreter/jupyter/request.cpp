#include "interpreter/jupyter/request.hpp"

#include <fmt/format.h>
#include <cstdint>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace pxl::jupyter {

using nlohmann::json;

namespace {

constexpr int max_depth = 100;  // maximum nesting of JSON: xeus serialises it recursively

/// The type of a message's member, and whether the member is optional.
struct Member {
  std::string_view name;
  json::value_t type;
  bool required = true;
};
using Members = std::vector<Member>;
using Type = json::value_t;

// The members that xeus reads from the header and from each request, by
// https://jupyter-client.readthedocs.io/en/stable/messaging.html.
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

/// Also checks that an integer fits an int, as the protocol requires.
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

bool is_deep(const json& value, int depth = 0) {
  return depth > max_depth || std::any_of(value.begin(), value.end(),
                                          [&](const json& v) { return v.is_structured() && is_deep(v, depth + 1); });
}

const Request* find_request(const xeus::xmessage& message) {
  const std::string type = message.header()["msg_type"];
  const auto found =
      std::find_if(std::begin(requests), std::end(requests), [&](const Request& r) { return r.type == type; });
  return found == std::end(requests) ? nullptr : found;
}

}  // namespace

std::string message_problem(const xeus::xmessage& message) {
  const std::pair<std::string_view, const json*> parts[] = {{"header", &message.header()},
                                                            {"parent header", &message.parent_header()},
                                                            {"metadata", &message.metadata()},
                                                            {"content", &message.content()}};
  for (const auto& [name, part] : parts) {
    if (!part->is_object()) return fmt::format("its {} is not a JSON object", name);
    if (is_deep(*part)) return fmt::format("its {} is nested too deeply", name);
  }
  const json& header = message.header();
  if (std::string problem = problem_of(header, header_members, "header"); !problem.empty()) return problem;
  if (find_request(message)) return {};
  return fmt::format("`{}` is not a request", header["msg_type"].get<std::string>().substr(0, 40));
}

std::string content_problem(const xeus::xmessage& message) {
  const Request& request = *find_request(message);
  return problem_of(message.content(), request.members, request.type);
}

}  // namespace pxl::jupyter
