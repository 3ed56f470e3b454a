// Messages of the Jupyter protocol as the parts that a socket carries: identities, a delimiter, a signature, four JSON
// objects, buffers. Parts come in and a message goes out, or an exception that says what is wrong; and the reverse.
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

  /// Throws std::exception: too few or too many parts, a wrong signature, no JSON.
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
