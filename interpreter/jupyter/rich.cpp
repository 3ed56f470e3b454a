#include "interpreter/jupyter/rich.hpp"

#include <fmt/format.h>

#include "interpreter/commands/live_weights.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/jupyter/raster.hpp"
#include "interpreter/tools/graph_page.hpp"
#include "interpreter/tools/graph_view.hpp"
#include "runtime/base/text/markup.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl::jupyter {

namespace {

constexpr int64_t max_rows = 20, max_columns = 12;

// The indices shown of a truncated axis: its beginning, a gap (-1), its end.
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

// Vectors and matrices only; Arrays with more axes are easier to read as text.
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

nlohmann::json vector_forms(const std::string& svg, const std::string& shown) {
  // The HTML form repeats the picture, since nbconvert 6 removes all elements from an SVG.
  return {{"text/plain", shown},
          {"image/svg+xml", svg},
          {"text/html", fmt::format("<img alt=\"{}\" src=\"data:image/svg+xml;base64,{}\">",
                                    escape_markup(shown.substr(1, shown.size() - 2)), base64(svg))}};
}

Bundle picture_bundle(const std::string& svg, const std::string& shown) {
  Bundle bundle{vector_forms(svg, shown)};
  if (const std::optional<Raster> raster = png_of_svg(svg)) {
    bundle.data["image/png"] = base64(raster->png);
    bundle.metadata["image/png"] = {{"width", raster->width}, {"height", raster->height}};
  }
  return bundle;
}

Bundle graph_bundle(const Engine& engine, const Graph& graph, const std::string& shown) {
  Bundle bundle{{{"text/plain", shown}}};
  try {
    if (can_draw()) bundle = picture_bundle(draw(dot_text(graph), "svg"), shown);
  } catch (const Error&) {
    // The page below needs no Graphviz, so that a failed drawing is no error.
  }
  // The frame isolates the page: its names and styles do not mix with those of the notebook.
  bundle.data["text/html"] = fmt::format(
      "<iframe srcdoc=\"{}\" sandbox=\"allow-scripts allow-downloads\" title=\"graph\" "
      "style=\"display:block;box-sizing:border-box;width:100%;height:32em;border:1px solid "
      "#8884;border-radius:6px\"></iframe>",
      escape_markup(graph_page({&graph.ir()}, &graph, {}, {}, live_weights(engine, graph.ir()))));
  return bundle;
}

Bundle rich(Engine& engine, const Value& value, const std::string& shown) {
  if (value.as<GraphObject>() || value.as<GradGraphObject>())
    return graph_bundle(engine, *to_graph(value, "display")->graph, shown);
  Bundle bundle{{{"text/plain", shown}}};
  if (const Array* array = value.as_array()) {
    if (std::string html = table_of(*array); !html.empty()) bundle.data["text/html"] = html;
  }
  return bundle;
}

}  // namespace pxl::jupyter
