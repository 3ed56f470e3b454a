// The kinds of errors: the names that `pxl explain` knows, that `--json` writes and that editors show beside messages.
// A kind names an entry that a reader looks up, not a place of the source: messages of one kind share their remedy.
// Each kind has a section in docs/errors.md, with an example that raises it. A name is never given another meaning.
#pragma once

#include <array>
#include <string_view>

namespace pxl::codes {

// clang-format off
// ---- the text
inline constexpr std::string_view syntax = "syntax";                  ///< does not follow the grammar
inline constexpr std::string_view unclosed = "unclosed";              ///< a bracket or string that does not end
inline constexpr std::string_view other_language = "other-language";  ///< what Python or C spells otherwise
inline constexpr std::string_view misplaced = "misplaced";            ///< a statement where it has no meaning
inline constexpr std::string_view assignment = "assignment";          ///< what cannot be assigned to
inline constexpr std::string_view twice = "twice";                    ///< a name that may be given once
// ---- names and calls
inline constexpr std::string_view unknown_name = "unknown-name";
inline constexpr std::string_view unbound_name = "unbound-name";  ///< read before its body binds it
inline constexpr std::string_view unknown_member = "unknown-member";
inline constexpr std::string_view import = "import";
inline constexpr std::string_view arguments = "arguments";            ///< too many, missing, unknown
inline constexpr std::string_view annotation = "annotation";          ///< an argument against its type or pattern
inline constexpr std::string_view type = "type";                      ///< a value of another type than is needed
inline constexpr std::string_view value = "value";                    ///< a value outside of what is allowed
inline constexpr std::string_view index = "index";
inline constexpr std::string_view key = "key";
// ---- tensors
inline constexpr std::string_view shape = "shape";
inline constexpr std::string_view dtype = "dtype";
inline constexpr std::string_view no_value_yet = "no-value-yet";      ///< a tensor where a number is needed
inline constexpr std::string_view other_graph = "other-graph";        ///< a tensor of another graph or program
inline constexpr std::string_view in_place = "in-place";              ///< a change that cannot be
inline constexpr std::string_view in_place_order = "in-place-order";  ///< a change that no order decides
// ---- graphs
inline constexpr std::string_view graph_inputs = "graph-inputs";      ///< of a call
inline constexpr std::string_view bind = "bind";
inline constexpr std::string_view param = "param";
inline constexpr std::string_view initial_value = "initial-value";
inline constexpr std::string_view gradient = "gradient";
inline constexpr std::string_view outlined = "outlined";
inline constexpr std::string_view program = "program";                ///< what a program's body may do
inline constexpr std::string_view complete = "complete";              ///< a program that a session has
// ---- running
inline constexpr std::string_view stream = "stream";                  ///< what a stream takes and where
inline constexpr std::string_view session = "session";
inline constexpr std::string_view replicas = "replicas";              ///< groups, and replicas that go apart
inline constexpr std::string_view not_finite = "not-finite";
inline constexpr std::string_view arithmetic = "arithmetic";          ///< of host numbers
inline constexpr std::string_view assertion = "assertion";
inline constexpr std::string_view recursion = "recursion";
inline constexpr std::string_view memory = "memory";
// ---- outside
inline constexpr std::string_view file = "file";
inline constexpr std::string_view write = "write";
inline constexpr std::string_view option = "option";
inline constexpr std::string_view usage = "usage";
inline constexpr std::string_view internal = "internal";

inline constexpr std::array all = {
    syntax, unclosed, other_language, misplaced, assignment, twice, unknown_name, unbound_name, unknown_member, import, arguments,
    annotation, type, value, index, key, shape, dtype, no_value_yet, other_graph, in_place, in_place_order, graph_inputs,
    bind, param, initial_value, gradient, outlined, program, complete, stream, session, replicas, not_finite, arithmetic, assertion,
    recursion, memory, file, write, option, usage, internal};
// clang-format on

}  // namespace pxl::codes
