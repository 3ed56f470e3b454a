// The Jupyter kernel: answers the protocol's requests with the engine.
#pragma once

#include <set>
#include <string>
#include <xeus/xinterpreter.hpp>

#include "interpreter/tools/engine.hpp"

namespace pxl::jupyter {

class Kernel final : public xeus::xinterpreter {
 public:
  Kernel();

 private:
  void configure_impl() override {}
  nlohmann::json execute_request_impl(int number, const std::string& code, bool silent, bool store_history,
                                      nlohmann::json user_expressions, bool allow_stdin) override;
  nlohmann::json complete_request_impl(const std::string& code, int cursor) override;
  nlohmann::json inspect_request_impl(const std::string& code, int cursor, int detail) override;
  nlohmann::json is_complete_request_impl(const std::string& code) override;
  nlohmann::json kernel_info_request_impl() override;
  void shutdown_request_impl() override;

  void write(const char* stream, std::string_view text);
  void draw(const std::string& svg, const std::string& title);
  void flush();

  Engine engine_;
  std::string stream_, pending_;  ///< output that is sent together: one message per line would flood the page
  double sent_ = 0;
  bool silent_ = false;
  int cell_ = 0;
  std::set<std::string> drawn_;  ///< titles of the charts that the running cell has shown
};

}  // namespace pxl::jupyter
