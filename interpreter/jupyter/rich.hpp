// Display of values in a notebook: always as text, arrays also as tables, graphs also as pictures.
#pragma once

#include <nlohmann/json.hpp>

#include "interpreter/tools/engine.hpp"

namespace pxl::jupyter {

/// The forms of a value by MIME type, and metadata for pages: the size of a raster picture.
struct Bundle {
  nlohmann::json data, metadata = nlohmann::json::object();
};

/// The forms of a value. `shown` is its text form.
Bundle rich(Engine& engine, const Value& value, const std::string& shown);
/// The forms of a graph: the page of `pxl graph` in a frame, and pictures for viewers without frames (such as print).
Bundle graph_bundle(const Engine& engine, const Graph& graph, const std::string& shown);
/// The forms of an SVG picture; `shown` is a text in angle brackets, "<chart loss>".
nlohmann::json vector_forms(const std::string& svg, const std::string& shown);
/// The forms of vector_forms and, if librsvg was found, a PNG.
Bundle picture_bundle(const std::string& svg, const std::string& shown);

}  // namespace pxl::jupyter
