#include "tests/mutants/client.hpp"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "interpreter/lsp/server.hpp"

namespace mutants {

Client::Client() {
  if (pipe(to_) != 0 || pipe(from_) != 0) throw std::runtime_error("no pipe");
  server_ = std::thread([this] { pxl::lsp::Server(to_[0], from_[1]).run(); });
  request("initialize", Json::object());
  send({{"jsonrpc", "2.0"}, {"method", "initialized"}, {"params", Json::object()}});
}

Client::~Client() {
  close(to_[1]);
  server_.join();
  for (int fd : {to_[0], from_[0], from_[1]}) close(fd);
}

void Client::send(const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string text = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  for (size_t at = 0; at < text.size();) {
    const ssize_t put = write(to_[1], text.data() + at, text.size() - at);
    if (put <= 0) throw std::runtime_error("the server is gone");
    at += static_cast<size_t>(put);
  }
}

Client::Json Client::receive() {
  for (;;) {
    const size_t head = buffer_.find("\r\n\r\n");
    if (head != buffer_.npos) {
      const size_t length = std::stoul(buffer_.substr(buffer_.find(':') + 1));
      if (buffer_.size() >= head + 4 + length) {
        Json message = Json::parse(buffer_.substr(head + 4, length));
        buffer_.erase(0, head + 4 + length);
        return message;
      }
    }
    char chunk[65536];
    const ssize_t got = read(from_[0], chunk, sizeof chunk);
    if (got <= 0) throw std::runtime_error("the server is gone");
    buffer_.append(chunk, static_cast<size_t>(got));
  }
}

Client::Json Client::request(const std::string& method, const Json& params) {
  send({{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", params}});
  for (;;) {
    Json message = receive();
    if (message.value("id", 0) != id_) continue;
    const Json error = message.value("error", Json());
    if (!error.is_null() && error.value("code", 0) == pxl::lsp::internal_error)
      throw std::runtime_error(method + ": " + error.value("message", ""));
    return message.value("result", Json());
  }
}

void Client::visit(const std::string& text) {
  const Json document = {{"uri", "file:///mutant.pxl"}};
  Json open = document;
  open["languageId"] = "pxl";
  open["version"] = ++id_;
  open["text"] = text;
  send({{"jsonrpc", "2.0"}, {"method", "textDocument/didOpen"}, {"params", {{"textDocument", open}}}});
  while (receive().value("method", "") != "textDocument/publishDiagnostics") {
  }
  const Json params = {{"textDocument", document}};
  for (const char* method : {"documentSymbol", "foldingRange", "formatting", "semanticTokens/full"})
    request(std::string("textDocument/") + method, params);
  Json ranged = params;
  ranged["range"] = {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 100000}, {"character", 0}}}};
  request("textDocument/inlayHint", ranged);
  constexpr size_t places = 8;
  for (size_t k = 0; k < places; ++k) {
    const std::string before = text.substr(0, text.size() * k / places);
    const size_t newline = before.rfind('\n');
    Json placed = params;
    placed["position"] = {{"line", std::count(before.begin(), before.end(), '\n')},
                          {"character", before.size() - (newline == before.npos ? 0 : newline + 1)}};
    for (const char* method :
         {"hover", "definition", "references", "documentHighlight", "prepareRename", "signatureHelp", "completion"})
      request(std::string("textDocument/") + method, placed);
    placed["newName"] = "renamed";
    request("textDocument/rename", placed);
    // And typing goes on there.
    if (k % 4 == 3) {
      const Json at = placed["position"];
      send({{"jsonrpc", "2.0"},
            {"method", "textDocument/didChange"},
            {"params",
             {{"textDocument", {{"uri", document["uri"]}, {"version", ++id_}}},
              {"contentChanges", {{{"range", {{"start", at}, {"end", at}}}, {"text", k == 3 ? "." : "("}}}}}}});
      request("textDocument/completion", placed);
    }
  }
  send({{"jsonrpc", "2.0"}, {"method", "textDocument/didClose"}, {"params", params}});
}

}  // namespace mutants
