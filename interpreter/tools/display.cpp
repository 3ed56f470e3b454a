#include "interpreter/tools/display.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/library/sessions.hpp"
#include "interpreter/tools/inspection.hpp"
#include "interpreter/values/operations.hpp"

namespace pxl {
namespace {

constexpr size_t max_lines = 60;

std::string limited(std::string text) {
  size_t at = 0, lines = 0;
  while (lines < max_lines && (at = text.find('\n', at)) != text.npos) ++at, ++lines;
  if (lines < max_lines) return text;
  const auto rest = std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), '\n') + 1;
  text.resize(at);
  return text + fmt::format("... {} more lines; `print` shows all", rest);
}

}  // namespace

std::string display(Interpreter& in, const Value& v) {
  if (v.is_none()) return {};
  if (const Array* a = v.as_array()) return a->rank() == 0 ? str_of(in, v) : text(a->spec()) + "\n" + str_of(in, v);
  if (v.as<GraphObject>() || v.type_name() == "gradient graph") return limited(str_of(in, v));
  if (auto* r = v.as<RunResultObject>()) {
    std::string out;
    for (const std::string& name : r->output_names()) {
      const Value array = member_of(in, v, name, {});
      if (!out.empty()) out += '\n';
      const Array* a = array.as_array();
      std::string shown = str_of(in, array);
      out += a && shown.find('\n') != shown.npos ? fmt::format("{}: {}\n{}", name, text(a->spec()), shown)
                                                 : fmt::format("{}: {}", name, shown);
    }
    return limited(out.empty() ? repr_of(in, v) : out);
  }
  std::string shown = repr_of(in, v);
  // Shows at most about two screens, and only whole elements of a list or dict.
  constexpr size_t most = 4000;
  if (shown.size() > most) {
    const size_t element = shown.rfind(", ", most);
    size_t end = element != shown.npos && element > most / 2 ? element + 2 : most;
    while (end > 0 && (shown[end] & 0xC0) == 0x80) --end;
    shown.resize(end);
    const std::optional<int64_t> length = v.is_object() ? v.object()->length(in) : std::nullopt;
    shown += length ? fmt::format("... {} elements; `print` shows all", *length) : "... `print` shows all";
  }
  return limited(shown);
}

}  // namespace pxl
