// Encodes and decodes messages of the Jupyter protocol. A socket carries a message as parts: identities, a delimiter, a
// signature, four JSON objects, buffers. `decode` takes parts and returns a message, or throws an exception that says
// what is wrong. `encode` is the reverse.
// https://jupyter-client.readthedocs.io/en/stable/messaging.html#the-wire-protocol
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include <xeus/xkernel_configuration.hpp>
#include <xeus/xmessage.hpp>

typedef struct evp_md_st EVP_MD;

namespace pxl::jupyter {

using Parts = std::vector<std::string>;

class Wire {
 public:
  /// Throws std::runtime_error if the connection file names an unknown signature scheme.
  Wire(const xeus::xconfiguration& configuration, nlohmann::json::error_handler_t errors);

  /// Throws std::exception if there are too few or too many parts, if the signature is wrong, or if a part is not JSON.
  xeus::xmessage decode(Parts parts) const;
  Parts encode(const xeus::xmessage& message) const;
  Parts encode(const xeus::xpub_message& message) const;

 private:
  Parts encode(Parts identities, const xeus::xmessage_base& message) const;
  std::string signature(const std::string& text) const;

  std::string key_;
  const EVP_MD* digest_;
  nlohmann::json::error_handler_t errors_;
};

}  // namespace pxl::jupyter
