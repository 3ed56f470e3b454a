#include "interpreter/tools/graph_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "interpreter/tools/equal_graphs.hpp"
#include "interpreter/tools/statistics.hpp"
#include "runtime/graph/op_scopes.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/tiles/report/report_json.hpp"

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

/// A tensor's name without the numbers that make it unique: "add_out" of "add_out__t20__t44".
std::string plain_name(const Tensor& t) {
  std::string name = t.key.empty() ? t.name : t.key;
  for (size_t at; (at = name.rfind("__t")) != name.npos && at + 3 < name.size() &&
                  name.find_first_not_of("0123456789", at + 3) == name.npos;)
    name.resize(at);
  return name;
}

/// The results of graphs that are the next values of states: a program only writes them back.
class StateResults {
 public:
  /// Numbers of a graph's outputs.
  Json of(const Graph& graph) {
    Json found = Json::array();
    for (size_t i = 0; i < graph.outputs().size(); ++i)
      if (is_output(graph, i)) found.push_back(i);
    return found;
  }

 private:
  bool is_output(const Graph& graph, size_t i) {
    const auto [at, fresh] = known_.emplace(std::pair(&graph, i), false);
    if (!fresh) return at->second;
    const auto& calls = graph.call_sites();
    const bool is = !calls.empty() && std::all_of(calls.begin(), calls.end(), [&](const Op* call) {
      return call->row->role == Role::call && i < call->outputs.size() && is_written_back(*call->outputs[i]);
    });
    return known_[{&graph, i}] = is;
  }
  bool is_written_back(const Tensor& t) {
    const auto& outputs = t.graph->outputs();
    size_t uses = 0;
    for (const Op* op : t.consumers) {
      const bool writes = op->called.empty() && op->inputs[0]->is_state && op->inputs[0] != &t && op->modifies(0);
      if (!writes) return false;
      ++uses;
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] == &t && (++uses, !is_output(*t.graph, i))) return false;
    return uses > 0;
  }

  std::map<std::pair<const Graph*, size_t>, bool> known_;
};

/// The values of variables and constants that the page shows.
class ShownWeights {
 public:
  explicit ShownWeights(const GivenWeights& given) : given_(given) {}

  /// Range and histogram of a tensor's values; null if the tensor has none.
  Json of(const Tensor& t) {
    const Tensor* source = source_of(t);
    if (!source || source->spec.size() < 2 || !is_floating(source->spec.dtype)) return nullptr;
    const auto [at, fresh] = known_.try_emplace(source);
    if (fresh) at->second = figures(*source);
    return at->second;
  }

 private:
  /// The variable or constant that each call passes for an input; null if there are several.
  static const Tensor* source_of(const Tensor& t) {
    if (t.kind == TensorKind::variable || t.kind == TensorKind::constant) return &t;
    if (t.kind != TensorKind::input || t.key.empty()) return nullptr;
    const auto& inputs = t.graph->inputs();
    const auto slot = static_cast<size_t>(std::find(inputs.begin(), inputs.end(), &t) - inputs.begin());
    const Tensor* found = nullptr;
    for (const Op* call : t.graph->call_sites()) {
      const Tensor* one =
          call->row->role == Role::call && call->inputs[slot] ? source_of(*call->inputs[slot]) : nullptr;
      if (!one || (found && found != one)) return nullptr;
      found = one;
    }
    return found;
  }

  Json figures(const Tensor& t) const {
    const auto given = given_.find(&t);
    const Array& values = given == given_.end() ? t.data : given->second;
    if (!values.has_elements()) return nullptr;
    const Statistics s = statistics_of(values);
    constexpr int bins = 24;
    std::vector<int64_t> counts(bins);
    const double width = s.most - s.least;
    for (int64_t i = 0; i < values.size(); ++i) {
      const double x = values.number(i);
      if (!std::isfinite(x)) continue;
      const int bin = width > 0 ? static_cast<int>((x - s.least) / width * bins) : 0;
      ++counts[static_cast<size_t>(std::clamp(bin, 0, bins - 1))];
    }
    return {{"text", text(s)}, {"least", s.least}, {"most", s.most}, {"bins", counts}};
  }

  const GivenWeights& given_;
  std::map<const Tensor*, Json> known_;
};

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
             const Plans& plans, StateResults& states, ShownWeights& weights) {
  std::unordered_map<const Tensor*, size_t> number;
  Json tensors = Json::array();
  const auto tensor = [&](const Tensor* t) -> Json {
    if (!t) return -1;
    const auto [found, fresh] = number.try_emplace(t, number.size());
    if (fresh) {
      Json one{
          {"name", plain_name(*t)}, {"spec", text(t->spec)}, {"kind", kind_of(*t)}, {"scalar", t->spec.size() == 1}};
      if (t->kind == TensorKind::constant && t->data.size() == 1 && t->data.has_elements())
        one["value"] = fmt::format("{:g}", t->data.number(0));
      if (Json figures = weights.of(*t); !figures.is_null()) one["weight"] = std::move(figures);
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
          {"states", states.of(graph)},
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
                   {"states", Json::array()},
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
                       std::span<const tiles::Report> reports, std::span<const std::vector<PassStage>> passes,
                       const GivenWeights& given) {
  Sources sources;
  StateResults states;
  ShownWeights weights(given);
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
    for (const GraphClass& c : classes.classes)
      drawn.push_back(json_of(*c.graph, c, classes, sources, plans, states, weights));
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
                       std::span<const tiles::Report> reports, std::span<const std::vector<PassStage>> passes,
                       const GivenWeights& given) {
  return page_of(graph_data(programs, first, reports, passes, given));
}

std::string module_page(const std::vector<std::pair<std::string, ModulePicture>>& pictures) {
  Sources sources;
  Json programs = Json::array();
  for (const auto& [title, picture] : pictures) programs.push_back(json_of(title, picture, sources));
  return page_of(data_text(std::move(programs), sources));
}

}  // namespace pxl
