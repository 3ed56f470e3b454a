#include "interpreter/tools/inspection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/undo.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/syntax/classify.hpp"
#include "interpreter/tools/context.hpp"
#include "interpreter/tools/help/help.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/numbers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/records.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {
namespace {

std::string indented(std::string_view text) {
  std::string out = "  ";
  for (char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out + "\n";
}

/// Truncates a text to a number of columns, with an ellipsis.
std::string cut(std::string_view text, int width) {
  const size_t line = text.find('\n');
  const bool more = line != text.npos;
  if (more) text = text.substr(0, line);
  if (!more && display_width(text) <= width) return std::string(text);
  std::string out;
  int columns = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t from = i;
    columns += code_point_width(next_code_point(text, i));
    if (columns > width - 1) break;
    out += text.substr(from, i - from);
  }
  return out + "\u2026";
}

bool is_chain_literal(const ClassifiedToken& t, std::string_view token) {
  return t.kind == TokenClass::number || (t.kind == TokenClass::string && token.size() >= 2);
}

}  // namespace

std::string type_text(Interpreter&, const Value& v) {
  if (const Tensor* t = v.as<TensorObject>() ? as_tensor(v) : nullptr) return "tensor " + text(t->spec);
  if (const Array* a = v.as_array()) return "array " + text(a->spec());
  if (const auto spec = unknown_spec(v)) return "array " + text(*spec);
  if (auto* s = v.as<StreamObject>())
    return fmt::format("stream {} {}", s->stream->to_device ? "in" : "out", text(s->stream->spec()));
  if (auto* g = v.as<GraphObject>()) return "graph " + (g->graph->is_main() ? g->ir->name() : g->graph->id());
  if (auto* g = v.as<BoundGraphObject>()) return "bound graph " + g->graph->graph->id();
  if (auto* m = v.as<ModuleObject>()) return "module " + m->code->name;
  if (auto* r = v.as<RecordType>()) return "record " + r->code->name;
  if (v.as<RecordObject>()) return "record of " + v.type_name();
  if (auto* p = v.as<ProgramObject>()) return "program " + p->code->function->name;
  if (auto* i = v.as<IrObject>()) return "ir " + i->ir->name();
  if (auto* s = v.as<SessionObject>()) return fmt::format("session of {} on {}", s->ir->name(), s->device);
  if (auto* s = v.as<SequenceObject>()) return fmt::format("{} of {}", s->type_name(), s->items.size());
  if (auto* d = v.as<DictObject>()) return fmt::format("dict of {}", d->items.size());
  if (auto* t = v.as<TreeObject>()) return fmt::format("{} of {}", t->type_name(), t->leaves().size());
  if (v.as<ModuleInstance>()) return "instance of " + v.type_name();
  return v.type_name();
}

std::string summary(Interpreter& in, const Value& v, int width) {
  if (const std::string* s = v.as_string(); s && s->size() > 400)
    return cut(repr_of(in, Value(s->substr(0, 400))), width);
  if (const Array* a = v.as_array(); a && a->size() > 16) return cut(fmt::format("{} elements", a->size()), width);
  if (auto* s = v.as<SequenceObject>(); s && s->items.size() > 32)
    return cut(fmt::format("{} items", s->items.size()), width);
  if (auto* d = v.as<DictObject>(); d && d->items.size() > 32)
    return cut(fmt::format("{} items", d->items.size()), width);
  if (auto* t = v.as<TreeObject>(); t && t->items.size() > 32)
    return cut(fmt::format("{} items", t->items.size()), width);
  std::string shown = repr_of(in, v);
  if (v.as_array())
    for (size_t at; (at = shown.find_first_of("\n")) != shown.npos;) {
      size_t end = shown.find_first_not_of(" \n", at);
      shown.replace(at, end - at, " ");
    }
  return cut(shown, width);
}

Inspection inspect_value(Interpreter& in, const std::string& name, const Value& v) {
  Inspection i;
  i.found = true;
  i.name = name;
  i.type = type_text(in, v);
  if (std::optional<SignatureInfo> s = signature_of(in, v)) {
    i.signature = s->text();
    i.doc = s->doc;
  }
  auto* builtin = v.as<BuiltinObject>();
  if (const OpRow* row = builtin ? find_op(builtin->name) : nullptr;
      row && !row->path.empty() && row->doc == builtin->texts.doc) {
    i.text = op_help(in, *row);
    return i;
  }
  i.text = i.signature.empty() || builtin ? name + ": " + i.type + "\n"
                                          : i.type.substr(0, i.type.find(' ')) + " " + i.signature + "\n";
  if (builtin && !i.signature.empty()) i.text = i.signature + "\n";
  if (!i.doc.empty()) i.text += indented(i.doc);
  if (builtin && builtin->row && !builtin->row->example.empty())
    i.text += indented("example: " + std::string(builtin->row->example));
  if (!v.is_object() || i.signature.empty()) i.text += indented(summary(in, v, 72));
  if (v.is_object()) {
    std::vector<std::string> members = v.object()->member_names();
    if (!members.empty() && !v.as_array() && !as_tensor(v) && !v.as_string()) {
      std::string list = "members:";
      for (const std::string& m : members) list += " " + m;
      i.text += indented(list);
    }
  }
  return i;
}

std::optional<Value> resolve_chain(Interpreter& in, std::string_view text, size_t end, size_t& begin) {
  const SourceFile source("<inspected>", std::string(text.substr(0, end)));
  const std::vector<ClassifiedToken> tokens = classify_tokens(source);
  size_t first = 0;
  const size_t count = tokens.size();
  if (count == 0 || tokens.back().end != source.text().size()) return std::nullopt;
  if (!chain_start(source, tokens, count, first)) return std::nullopt;
  begin = tokens[first].begin;
  auto word = [&](size_t i) {
    return std::string(source.text().substr(tokens[i].begin, tokens[i].end - tokens[i].begin));
  };
  const Value* start = evaluator_of(in).file_scope()->find(word(first));
  if (!start) return std::nullopt;
  Value value = *start;
  // Members may run code; their changes are rolled back.
  std::optional<UndoJournal> record;
  if (Object::recording_era == 0) record.emplace(in);
  std::optional<Value> result;
  try {
    size_t i = first + 1;
    while (i < count) {
      if (tokens[i].kind == TokenClass::dot && i + 1 < count) {
        const std::string member = word(i + 1);
        if (!value.is_object()) return std::nullopt;
        // `.T` makes an op or a copy, but its type is known beforehand.
        const bool same_kind = member == "T" && (value.as_array() || as_tensor(value));
        if (!same_kind) {
          if (value.type_name() == "ir" && !graphs_of(in).has_target() && !value.as<IrObject>()) return std::nullopt;
          std::optional<Value> next = value.object()->member(in, member);
          if (!next) return std::nullopt;
          value = *next;
        }
        i += 2;
      } else if (word(i) == "[" && i + 2 < count && word(i + 2) == "]" &&
                 is_chain_literal(tokens[i + 1], word(i + 1))) {
        if (!value.is_object() || as_tensor(value) || value.as_array()) return std::nullopt;
        const Value key = tokens[i + 1].kind == TokenClass::number
                              ? Value(parse_int(word(i + 1)).value_or(0))
                              : Value(word(i + 1).substr(1, word(i + 1).size() - 2));
        value = value.object()->index(in, key);
        i += 3;
      } else {
        return std::nullopt;
      }
    }
    result = value;
  } catch (const std::exception&) {
    result = std::nullopt;
  }
  if (record && record->graphs_changed()) {
    value = Value();
    result = std::nullopt;
    record->take_back();
  }
  return result;
}

std::optional<Inspection> inspect(Interpreter& in, std::string_view text, size_t cursor) {
  cursor = std::min(cursor, text.size());
  const SourceFile source("<inspected>", std::string(text));
  const std::vector<ClassifiedToken> tokens = classify_tokens(source);
  for (const ClassifiedToken& t : tokens) {
    if (t.begin > cursor || t.end < cursor) continue;
    const std::string word(text.substr(t.begin, t.end - t.begin));
    if (t.kind == TokenClass::keyword || t.kind == TokenClass::declarer || t.kind == TokenClass::constant) {
      Inspection i = help(in, word);
      if (!i.found) continue;
      i.begin = t.begin;
      i.end = t.end;
      return i;
    }
    if (t.kind != TokenClass::name) continue;
    size_t begin = t.begin;
    std::optional<Value> v = resolve_chain(in, text, t.end, begin);
    const std::string chain(text.substr(begin, t.end - begin));
    Inspection i = v && evaluator_of(in).file_scope()->find_here(chain.substr(0, chain.find_first_of(".[")))
                       ? inspect_value(in, chain, *v)
                       : help(in, chain);
    if (!i.found) continue;
    i.begin = begin;
    i.end = t.end;
    return i;
  }
  const CallContext call = enclosing_call(source, tokens, cursor);
  if (!call.found) return std::nullopt;
  size_t begin = 0;
  std::optional<Value> callee = resolve_chain(in, text, call.callee_end, begin);
  if (!callee) return std::nullopt;
  const std::string chain(text.substr(begin, call.callee_end - begin));
  Inspection i = evaluator_of(in).file_scope()->find_here(chain.substr(0, chain.find_first_of(".[")))
                     ? inspect_value(in, chain, *callee)
                     : help(in, chain);
  i.begin = begin;
  i.end = call.callee_end;
  return i.found ? std::optional<Inspection>(i) : std::nullopt;
}

}  // namespace pxl
