#include "interpreter/jupyter/rich.hpp"

#include <fmt/format.h>

#include "interpreter/graphs/gradients.hpp"
#include "interpreter/graphs/graphs.hpp"
#include "interpreter/tools/graph_view.hpp"
#include "runtime/base/markup.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl::jupyter {

namespace {

constexpr int64_t max_rows = 20, max_columns = 12;

// Indices of a truncated axis: its beginning, a gap (-1), its end.
std::vector<int64_t> shown_indices(int64_t size, int64_t most) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < size; ++i) {
    if (size > most && i == most / 2) {
      out.push_back(-1);
      i = size - most / 2 - 1;
      continue;
    }
    out.push_back(i);
  }
  return out;
}

// Vectors and matrices only; arrays with more axes are more readable as text.
std::string table_of(const Array& array) {
  const Shape& shape = array.shape();
  if (shape.empty() || shape.size() > 2 || array.size() == 0) return {};
  const int64_t rows = shape.size() == 2 ? shape[0] : 1, columns = shape.back();
  const Array flat = array.reshaped({array.size()});
  std::string html = "<table>";
  const std::vector<int64_t> across = shown_indices(columns, max_columns);
  for (const int64_t r : shown_indices(rows, max_rows)) {
    html += "<tr>";
    for (const int64_t c : across) {
      const bool gap = r < 0 || c < 0;
      html += "<td style=\"text-align:right\">" +
              (gap ? std::string("…")
                   : escape_markup(to_text(flat.rows(r * columns + c, r * columns + c + 1).reshaped({})))) +
              "</td>";
    }
    html += "</tr>";
  }
  html += "</table>";
  return html + fmt::format("<small>{}</small>", escape_markup(text(array.spec())));
}

}  // namespace

nlohmann::json rich(Engine&, const Value& value, const std::string& shown) {
  nlohmann::json bundle = {{"text/plain", shown}};
  if (const Array* array = value.as_array()) {
    if (std::string html = table_of(*array); !html.empty()) bundle["text/html"] = html;
  }
  if ((value.as<GraphObject>() || value.as<GradGraphObject>()) && can_draw()) {
    try {
      bundle["image/svg+xml"] = draw(dot_text(*to_graph(value, "display")->graph), "svg");
    } catch (const Error&) {
      // The text form shows the schedule.
    }
  }
  return bundle;
}

}  // namespace pxl::jupyter
