// An editor for the language server in a thread of this process.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace mutants {

class Client {
 public:
  Client();
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Opens the text, waits for its diagnostics, asks every question that an editor asks at places spread over it,
  /// and closes it. Throws std::runtime_error where an answer is an internal error or does not come.
  void visit(const std::string& text);

 private:
  using Json = nlohmann::json;
  void send(const Json& message);
  Json receive();
  Json request(const std::string& method, const Json& params);

  int to_[2] = {-1, -1}, from_[2] = {-1, -1};
  std::thread server_;
  std::string buffer_;
  int id_ = 0;
};

}  // namespace mutants
