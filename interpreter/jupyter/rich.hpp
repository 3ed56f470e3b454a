// Display of values in a notebook: always as text, arrays also as tables, graphs also as pictures.
#pragma once

#include <nlohmann/json.hpp>

#include "interpreter/tools/engine.hpp"

namespace pxl::jupyter {

/// The forms of a value by MIME type, and what pages should know of them: the size of a raster picture.
struct Bundle {
  nlohmann::json data, metadata = nlohmann::json::object();
};

/// A value. `shown` is the text form.
Bundle rich(Engine& engine, const Value& value, const std::string& shown);
/// A graph: the page of `pxl graph` in a frame, and pictures for what shows no frames (a document in print).
Bundle graph_bundle(const Graph& graph, const std::string& shown);
/// A picture in SVG; `shown` is a text in angle brackets, "<chart loss>".
nlohmann::json vector_forms(const std::string& svg, const std::string& shown);
/// The same and, if librsvg was found, in PNG.
Bundle picture_bundle(const std::string& svg, const std::string& shown);

}  // namespace pxl::jupyter
