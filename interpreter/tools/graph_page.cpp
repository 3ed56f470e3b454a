#include "interpreter/tools/graph_page.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "interpreter/tools/equal_graphs.hpp"
#include "interpreter/tools/op_scopes.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/tiles/report_json.hpp"

namespace pxl {
namespace {

using Json = nlohmann::ordered_json;

/// The files that define ops, by number.
class Sources {
 public:
  int number(const SourceFile* file) {
    const auto [found, fresh] = numbers_.try_emplace(file, static_cast<int>(files_.size()));
    if (fresh) files_.push_back({{"name", file->name()}, {"text", file->text()}});
    return found->second;
  }
  Json take() { return std::move(files_); }

 private:
  std::map<const SourceFile*, int> numbers_;
  Json files_ = Json::array();
};

std::string_view kind_of(const Tensor& t) {
  switch (t.kind) {
    case TensorKind::variable: return "variable";
    case TensorKind::constant: return "constant";
    case TensorKind::input: return t.key.empty() ? "input" : "param";
    case TensorKind::result: break;
    case TensorKind::stream: return "stream";
  }
  return "result";
}

/// The ops of a report by their ids.
using Plans = std::unordered_map<int, const tiles::ReportOp*>;

Json plan_json(const tiles::ReportOp& o) {
  return {{"text", o.candidate},
          {"cycles", o.cycles.total()},
          {"compute", o.cycles.compute},
          {"exchange", o.cycles.exchange},
          {"sync", o.cycles.sync},
          {"host", o.cycles.host},
          {"runs", o.times},
          {"tiles", o.tiles},
          {"bytes", o.temp_bytes}};
}

Json json_of(const Graph& graph, const GraphClass& of, const GraphClasses& classes, Sources& sources,
             const Plans& plans) {
  std::unordered_map<const Tensor*, size_t> number;
  Json tensors = Json::array();
  const auto tensor = [&](const Tensor* t) -> Json {
    if (!t) return -1;
    const auto [found, fresh] = number.try_emplace(t, number.size());
    if (fresh) {
      Json one{{"name", t->key.empty() ? t->name : t->key},
               {"spec", text(t->spec)},
               {"kind", kind_of(*t)},
               {"scalar", t->spec.size() == 1}};
      if (t->kind == TensorKind::constant && t->data.size() == 1 && t->data.has_elements())
        one["value"] = fmt::format("{:g}", t->data.number(0));
      tensors.push_back(std::move(one));
    }
    return found->second;
  };
  Json inputs = Json::array(), outputs = Json::array(), ops = Json::array();
  for (const Tensor* t : graph.inputs()) inputs.push_back(tensor(t));
  const auto scopes = op_scopes(graph);
  for (const Op* op : schedule_order(graph)) {
    Json one{{"id", op->id}, {"name", op->row->schedule}, {"scope", scopes.at(op)}};
    Json in = Json::array(), out = Json::array(), called = Json::array(), attributes = Json::array();
    bool modifies = false;
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      in.push_back(tensor(op->inputs[i]));
      modifies = modifies || (op->inputs[i] && op->called.empty() && op->modifies(i));
    }
    for (const Tensor* t : op->outputs) out.push_back(tensor(t));
    for (const Graph* g : op->called) called.push_back(classes.of.at(g));
    for (size_t i = 0; i < op->attrs.size() && i < op->row->params.size(); ++i)
      if (!std::holds_alternative<std::monostate>(op->attrs[i]))
        attributes.push_back({op->row->params[i].name, attribute_text(op->attrs[i])});
    one["in"] = std::move(in);
    one["out"] = std::move(out);
    if (!called.empty()) one["calls"] = std::move(called);
    if (!attributes.empty()) one["attributes"] = std::move(attributes);
    if (modifies) one["modifies"] = true;
    if (op->stream) one["stream"] = op->stream->name();
    if (const Span at = op->origin.span; at) {
      one["file"] = sources.number(at.file);
      one["line"] = at.file->position(at.begin).line;
    }
    if (const auto plan = plans.find(op->id); plan != plans.end()) one["plan"] = plan_json(*plan->second);
    ops.push_back(std::move(one));
  }
  for (const Tensor* t : graph.outputs()) outputs.push_back(tensor(t));
  return {{"id", graph.is_main() ? graph.ir().name() : graph.id()},
          {"title", graph.is_main() ? graph.ir().name() : graph.title()},
          {"main", graph.is_main()},
          {"members", of.members},
          {"calls", graph.call_sites().size()},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"tensors", std::move(tensors)},
          {"ops", std::move(ops)}};
}

/// The modules as the ops of a graph, and the tensors between them named by the members.
Json json_of(const std::string& title, const ModulePicture& picture, Sources& sources) {
  Json tensors = Json::array(), ops = Json::array();
  const auto tensor = [&](const std::string& name, const std::string& spec, const char* kind) {
    tensors.push_back({{"name", name}, {"spec", spec}, {"kind", kind}, {"scalar", false}});
    return tensors.size() - 1;
  };
  for (size_t i = 0; i < picture.boxes.size(); ++i) {
    const ModuleBox& box = picture.boxes[i];
    Json in = Json::array(), attributes = Json::array();
    for (const auto& [name, spec] : box.members)
      if (name == "build")
        attributes.push_back({name, spec});
      else
        in.push_back(tensor(name, spec, "param"));
    ops.push_back({{"id", i}, {"name", box.title}, {"scope", Json::array()}, {"in", in}, {"out", Json::array()}});
    if (!attributes.empty()) ops.back()["attributes"] = std::move(attributes);
    if (!box.at) continue;
    ops.back()["file"] = sources.number(box.at.file);
    ops.back()["line"] = box.at.file->position(box.at.begin).line;
  }
  for (const ModuleUse& use : picture.uses) {
    const size_t t = tensor(use.member, use.member, "module");
    ops[use.user]["out"].push_back(t);
    ops[use.used]["in"].push_back(t);
  }
  const Json graph{{"id", title},
                   {"title", title},
                   {"main", true},
                   {"members", 1},
                   {"calls", 0},
                   {"inputs", Json::array()},
                   {"outputs", Json::array()},
                   {"tensors", std::move(tensors)},
                   {"ops", std::move(ops)}};
  return {{"name", title},           {"main", 0},
          {"modules", true},         {"machine", ""},
          {"passes", Json::array()}, {"graphs", Json::array({graph})}};
}

/// The text of the page's data. JSON contains `<` in strings only.
std::string data_text(Json programs, Sources& sources) {
  const Json all{{"programs", std::move(programs)}, {"sources", sources.take()}};
  std::string out;
  for (const char c : all.dump(-1, ' ', false, Json::error_handler_t::replace)) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

std::string_view own_file(std::string_view name) {
  for (const GraphPageFile& f : graph_page_files())
    if (f.name == name) return f.text;
  return {};
}
std::string_view shared_file(std::string_view name) {
  for (const tiles::PageFile& f : tiles::page_files())
    if (f.name == name) return f.text;
  return {};
}

/// A page with this data.
std::string page_of(const std::string& data) {
  std::string js;
  // The licence of the layout library requires that each copy includes its text.
  js += fmt::format("/*!\n{}*/\n{}\n", own_file("dagre-copyright.txt"), own_file("dagre.js"));
  js += shared_file("elements.js");
  for (const std::string_view part : {"model.js", "layout.js", "draw.js", "passes.js", "main.js"}) js += own_file(part);
  const std::string css = fmt::format("{}{}", shared_file("page.css"), own_file("graph.css"));
  std::string page;
  std::string_view rest = own_file("graph.html");
  for (size_t at; (at = rest.find("@@")) != rest.npos;) {
    page += rest.substr(0, at);
    rest.remove_prefix(at + 2);
    const std::string_view mark = rest.substr(0, rest.find("@@"));
    page += mark == "css" ? css : mark == "data" ? data : js;
    rest.remove_prefix(mark.size() + 2);
  }
  return page.append(rest);
}

}  // namespace

std::map<std::string, std::string> source_texts(const std::vector<const Ir*>& programs) {
  std::map<std::string, std::string> texts;
  for (const Ir* ir : programs)
    for (const auto& graph : ir->graphs())
      for (const Op* op : schedule_order(*graph))
        if (const Span at = op->origin.span; at) texts.try_emplace(at.file->name(), at.file->text());
  return texts;
}

std::string graph_data(const std::vector<const Ir*>& programs, const Graph* first,
                       std::span<const tiles::Report> reports, std::span<const std::vector<PassStage>> passes) {
  Sources sources;
  Json list = Json::array();
  for (size_t i = 0; i < programs.size(); ++i) {
    const Ir* ir = programs[i];
    Plans plans;
    if (i < reports.size())
      for (const tiles::ReportOp& o : reports[i].ops) plans.emplace(o.id, &o);
    std::vector<const Graph*> graphs;
    for (const auto& g : ir->graphs()) graphs.push_back(g.get());
    const GraphClasses classes = classes_of(graphs);
    Json drawn = Json::array();
    for (const GraphClass& c : classes.classes) drawn.push_back(json_of(*c.graph, c, classes, sources, plans));
    const Graph* start = first && &first->ir() == ir ? first : &ir->main();
    Json stages = Json::array();
    if (i < passes.size())
      for (const auto& [pass, nodes] : passes[i]) stages.push_back({{"pass", pass}, {"nodes", nodes}});
    list.push_back({{"name", start->is_main() ? ir->name() : start->id()},
                    {"main", classes.of.at(start)},
                    {"machine", i < reports.size() ? reports[i].machine.name : ""},
                    {"passes", std::move(stages)},
                    {"graphs", std::move(drawn)}});
  }
  return data_text(std::move(list), sources);
}

std::string graph_page(const std::vector<const Ir*>& programs, const Graph* first,
                       std::span<const tiles::Report> reports, std::span<const std::vector<PassStage>> passes) {
  return page_of(graph_data(programs, first, reports, passes));
}

std::string module_page(const std::vector<std::pair<std::string, ModulePicture>>& pictures) {
  Sources sources;
  Json programs = Json::array();
  for (const auto& [title, picture] : pictures) programs.push_back(json_of(title, picture, sources));
  return page_of(data_text(std::move(programs), sources));
}

}  // namespace pxl
