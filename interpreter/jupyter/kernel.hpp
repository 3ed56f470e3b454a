// The Jupyter kernel. It answers the protocol's requests with the engine, and runs cells of commands (`:schedule`) as
// the console does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <xeus/xinterpreter.hpp>

#include "interpreter/commands/console.hpp"

namespace pxl::jupyter {

class Kernel final : public xeus::xinterpreter, private Console {
 public:
  Kernel();

 private:
  void configure_impl() override {}
#if XEUS_VERSION_MAJOR >= 3
  void execute_request_impl(send_reply_callback reply, int number, const std::string& code,
                            xeus::execute_request_config config, nlohmann::json user_expressions) override {
    reply(execute(number, code, config.silent, user_expressions));
  }
#else
  nlohmann::json execute_request_impl(int number, const std::string& code, bool silent, bool,
                                      nlohmann::json expressions, bool) override {
    return execute(number, code, silent, expressions);
  }
#endif
  nlohmann::json complete_request_impl(const std::string& code, int cursor) override;
  nlohmann::json inspect_request_impl(const std::string& code, int cursor, int detail) override;
  nlohmann::json is_complete_request_impl(const std::string& code) override;
  nlohmann::json kernel_info_request_impl() override;
  void shutdown_request_impl() override;

  // ---- Console
  Engine& engine() override { return engine_; }
  void print(std::string_view text) override;
  void print_error(std::string_view text) override;
  void report(const Outcome& outcome) override;
  bool show_graph(const Graph& graph) override;
  int columns() const override { return 100; }
  std::vector<std::string> history() override { return {engine_.inputs().begin(), engine_.inputs().end()}; }

  nlohmann::json execute(int number, const std::string& cell, bool silent, const nlohmann::json& user_expressions);
  void write(std::string_view text);
  void draw(const std::string& svg, const std::string& title);
  void finish_charts();
  void flush();
  nlohmann::json help_data(const std::string& name, const std::string& text);
  nlohmann::json run_commands(const std::string& code);
  nlohmann::json failure_reply(const Outcome& outcome);
  nlohmann::json failure_reply(const std::string& name, const std::string& what, const std::vector<std::string>& lines);

  Engine engine_;
  std::string pending_;  ///< output collected for one message, since a message per line would flood the page
  double sent_ = 0;
  bool silent_ = false;
  int cell_ = 0;
  std::map<std::string, std::string> charts_;  ///< the last SVG with each title that the running cell has drawn
  std::optional<Outcome> failed_;              ///< an input that a command ran
  std::string command_error_;
};

}  // namespace pxl::jupyter
