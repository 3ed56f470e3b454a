// Describes a name or a value as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

class Interpreter;

struct Inspection {
  bool found = false;
  size_t begin = 0, end = 0;  ///< location of the name in the inspected text
  std::string name;           ///< "gelu", "data.train"
  std::string type;           ///< "function", "tensor float32[2, 3]"
  std::string signature;      ///< "gelu(t)"; empty if not callable
  std::string doc;
  std::string text;  ///< the complete help text; ends with a newline
};

/// One parameter of a callable value.
struct ParameterInfo {
  std::string name;      ///< name without stars
  std::string text;      ///< text as written: "axis: int = -1"
  bool rest = false;     ///< collects several arguments
  bool by_name = false;  ///< is passed by name only
};
struct SignatureInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;
  std::string results;  ///< " -> float32[n]", or empty
  std::string doc;
  std::string text() const;  ///< "Linear(out_features: int, bias: bool = true)"
};
/// The signature of a value; nullopt if it is not callable or its arguments are unknown.
std::optional<SignatureInfo> signature_of(Interpreter& in, const Value& callee);

/// "tensor float32[2, 3]", "array float32[2]", "int", "graph Linear_subgraph(0)", "module Linear".
std::string type_text(Interpreter& in, const Value& value);
/// One line for lists of names, with at most `width` columns: the value if it is short, otherwise a description.
std::string summary(Interpreter& in, const Value& value, int width = 60);
/// The complete description of a value.
Inspection inspect_value(Interpreter& in, const std::string& name, const Value& value);

/// The value of a chain that ends before `end`, with names and literal subscripts: "data.train", "blocks[0].up". It is
/// evaluated without calls; nullopt if a part is unknown. `begin` is set to the beginning of the chain.
std::optional<Value> resolve_chain(Interpreter& in, std::string_view text, size_t end, size_t& begin);

/// Describes the name at or directly before the cursor, or else the function of the enclosing call.
std::optional<Inspection> inspect(Interpreter& in, std::string_view text, size_t cursor);

}  // namespace pxl
