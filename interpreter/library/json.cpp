// JSON: values to text and back, and lines that are appended to a file.
#include "interpreter/values/text/json.hpp"
#include "interpreter/language/records.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/values/records.hpp"
#include "runtime/base/text/append_line.hpp"

namespace pxl {
namespace {

Value from_json(Interpreter& in, const Arguments& args) {
  const ArgReader a(args);
  Value value = value_of_json(a.string("text"));
  const Value type = a.value_or("type", Value());
  if (type.is_none()) return value;
  const auto* record = type.as<RecordType>();
  if (!record) type_error("from_json: the type is a record, not " + with_article(type.type_name()));
  return record_from(in, *record, std::move(value));
}

Value append_json(Interpreter& in, const Arguments& args) {
  const ArgReader a(args);
  append_line(a.string("path"), json_of(in, a.value("value")));
  return {};
}

}  // namespace

void bind_json_builtins(Scope& p) {
  define(
      p, no_effects,
      {"to_json(value)",
       "JSON text of numbers, strings, bools, none, lists, dicts, records and arrays; NaN and infinities become null.",
       R"(to_json({"loss": 0.5, "shape": array([2, 3])}))"},
      [](Interpreter& in, const Arguments& args) -> Value { return json_of(in, ArgReader(args).value("value")); });
  define(
      p, no_effects,
      {"from_json(text, type = none)",
       "The value of a JSON text. If the type is a record, it is that record, also within its fields, lists and dicts.",
       R"(from_json("[1, {\"a\": null}]"))"},
      from_json);
  define(p, Effect::writes_files,
         {"append_json(path, value)", "Appends a value to a file as a line of JSON, as a log of metrics.",
          R"(append_json("log.jsonl", {"step": 1, "loss": 0.5})
read_text("log.jsonl"))"},
         append_json);
}

}  // namespace pxl
