#include "interpreter/jupyter/wire.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace pxl::jupyter {

using nlohmann::json;

namespace {

constexpr std::string_view delimiter = "<IDS|MSG>";
constexpr std::ptrdiff_t json_parts = 4;  // header, parent header, metadata, content
constexpr size_t max_parts = 10'000;      // identities and buffers are few

const EVP_MD* digest_of(const std::string& scheme) {
  constexpr std::string_view prefix = "hmac-";
  const EVP_MD* digest = scheme.starts_with(prefix) ? EVP_get_digestbyname(scheme.c_str() + prefix.size()) : nullptr;
  if (!digest) throw std::runtime_error(fmt::format("unknown signature scheme `{}`", scheme));
  return digest;
}

}  // namespace

Wire::Wire(const xeus::xconfiguration& configuration, json::error_handler_t errors)
    : key_(configuration.m_key), digest_(digest_of(configuration.m_signature_scheme)), errors_(errors) {}

/// Returns the signature in hexadecimal digits. Without a key messages are not signed.
std::string Wire::signature(const std::string& text) const {
  if (key_.empty()) return {};
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (!HMAC(digest_, key_.data(), static_cast<int>(key_.size()), reinterpret_cast<const unsigned char*>(text.data()),
            text.size(), bytes, &size))
    throw std::runtime_error("the message can't be signed");
  std::string digits;
  for (unsigned int i = 0; i < size; ++i) digits += fmt::format("{:02x}", bytes[i]);
  return digits;
}

xeus::xmessage Wire::decode(Parts parts) const {
  const auto end = std::find(parts.begin(), parts.end(), delimiter);
  if (parts.size() > max_parts || parts.end() - end < 2 + json_parts)
    throw std::runtime_error("it has too few or too many parts");
  const auto first = end + 2, buffers = first + json_parts;
  std::string text;
  for (auto part = first; part != buffers; ++part) text += *part;
  const std::string wanted = signature(text), &given = end[1];
  if (!key_.empty() &&
      (given.size() != wanted.size() || CRYPTO_memcmp(given.data(), wanted.data(), wanted.size()) != 0))
    throw std::runtime_error("its signature is wrong");
  xeus::buffer_sequence binary;
  for (auto part = buffers; part != parts.end(); ++part) binary.emplace_back(part->begin(), part->end());
  return {{parts.begin(), end},  json::parse(first[0]), json::parse(first[1]),
          json::parse(first[2]), json::parse(first[3]), std::move(binary)};
}

Parts Wire::encode(Parts parts, const xeus::xmessage_base& message) const {
  parts.emplace_back(delimiter);
  parts.emplace_back();
  const size_t at = parts.size();
  std::string text;
  for (const json* part : {&message.header(), &message.parent_header(), &message.metadata(), &message.content()})
    text += parts.emplace_back(part->dump(-1, ' ', false, errors_));
  parts[at - 1] = signature(text);
  for (const xeus::binary_buffer& buffer : message.buffers()) parts.emplace_back(buffer.begin(), buffer.end());
  return parts;
}

Parts Wire::encode(const xeus::xmessage& message) const { return encode(message.identities(), message); }
Parts Wire::encode(const xeus::xpub_message& message) const { return encode({message.topic()}, message); }

}  // namespace pxl::jupyter
