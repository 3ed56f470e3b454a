// The extension module pxl._pxl: the library's classes. Users import python/pxl/__init__.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "arrays.hpp"
#include "calls.hpp"
#include "values.hpp"

namespace pxl_python {
namespace {

struct Program {
  std::shared_ptr<Printer> printer;
  pxl::Program program;
};

pxl::LoadOptions load_options(const std::shared_ptr<Printer>& printer, const pxl::Cancel& cancel,
                              std::map<std::string, std::string> options) {
  pxl::LoadOptions out;
  out.options = std::move(options);
  out.cancel = cancel;
  out.out = [printer](std::string_view text) { printer->write("stdout", text); };
  out.err = [printer](std::string_view text) { printer->write("stderr", text); };
  return out;
}

py::object eval(const std::string& text, const py::dict& names) {
  const pxl::Cancel cancel;
  const auto printer = std::make_shared<Printer>(cancel);
  const pxl::LoadOptions options = load_options(printer, cancel, {});
  const std::vector<pxl::Argument> given = arguments_of(names);
  return object_of(call(cancel, printer.get(), [&] { return pxl::eval(text, given, options); }));
}

template <class F>
Program loaded(std::map<std::string, std::string> options, F&& load) {
  const pxl::Cancel cancel;
  auto printer = std::make_shared<Printer>(cancel);
  const pxl::LoadOptions given = load_options(printer, cancel, std::move(options));
  pxl::Program program = call(cancel, printer.get(), [&] { return load(given); });
  return {std::move(printer), std::move(program)};
}

pxl::Session make_session(Program& p, const std::string& program, const std::string& engine, const std::string& device,
                          const py::dict& arguments, const pxl::Session* variables) {
  pxl::SessionOptions options;
  options.variables = variables;
  options.engine = engine;
  options.device = device;
  options.arguments = arguments_of(arguments);
  return call(options.cancel, p.printer.get(), [&] { return p.program.session(program, options); });
}

py::object evaluate(Program& p, const std::string& text, const py::dict& names, const std::string& title) {
  const std::vector<pxl::Argument> given = arguments_of(names);
  return object_of(call(p.program.cancellation(), p.printer.get(), [&] { return p.program.eval(text, given, title); }));
}

py::object call_function(Program& p, const std::string& function, const py::args& args, const py::kwargs& named) {
  std::vector<pxl::Value> values;
  for (const py::handle v : args) values.push_back(value_of(v, function));
  const std::vector<pxl::Argument> given = arguments_of(named);
  return object_of(
      call(p.program.cancellation(), p.printer.get(), [&] { return p.program.call(function, values, given); }));
}

/// Inputs by name, with the objects that keep their elements alive.
struct Inputs {
  std::vector<std::string> names;
  std::vector<Elements> elements;
  std::vector<pxl::Input> inputs;

  Inputs(const pxl::Session& s, const py::dict& given) : session(s) {
    for (const auto& [name, value] : given) add(py::str(name), value);
    for (size_t i = 0; i < names.size(); ++i) inputs.push_back({names[i], elements[i].view});
  }

 private:
  bool is_tree(const std::string& name) const {
    return std::ranges::any_of(session.inputs(),
                               [&](const pxl::StreamInfo& s) { return s.name.starts_with(name + "."); });
  }
  /// A dict is for a tree of streams, and a list or tuple where the session has one: parts have dotted names.
  void add(std::string name, const py::handle& value) {
    if (py::isinstance<py::dict>(value)) {
      for (const auto& [part, of] : py::cast<py::dict>(value)) add(name + "." + std::string(py::str(part)), of);
      return;
    }
    if ((py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) && is_tree(name)) {
      size_t i = 0;
      for (const auto& item : py::cast<py::sequence>(value)) add(name + "." + std::to_string(i++), item);
      return;
    }
    elements.push_back(elements_of(value, name));
    names.push_back(std::move(name));
  }
  const pxl::Session& session;
};

py::dict run(pxl::Session& s, const py::dict& given, bool finite) {
  const Inputs in(s, given);
  pxl::Outputs out = call(s.cancellation(), nullptr, [&] { return s.run(in.inputs, {finite}); });
  py::dict arrays;
  for (auto& [name, array] : out.arrays) arrays[py::str(name)] = array_of(std::move(array));
  return arrays;
}

void run_into(pxl::Session& s, const py::dict& outputs, const py::dict& given, bool finite) {
  const Inputs in(s, given);
  std::vector<std::string> names;
  std::vector<pxl::Output> into;
  for (const auto& [name, value] : outputs) names.push_back(py::str(name));
  size_t i = 0;
  for (const auto& [name, value] : outputs) {
    into.push_back({names[i], writable_elements_of(value, names[i])});
    ++i;
  }
  call_void(s.cancellation(), [&] { return s.run(in.inputs, into, {finite}); });
}

py::object call_net(pxl::Session& s, const std::string& net, const py::args& args, const py::kwargs& named) {
  std::vector<pxl::Value> values;
  for (const py::handle v : args) values.push_back(value_of(v, net));
  const std::vector<pxl::Argument> given = arguments_of(named);
  return object_of(call(s.cancellation(), nullptr, [&] { return s.call(net, values, given); }));
}

void write(pxl::Session& s, const py::dict& values) {
  const Inputs in(s, values);
  call_void(s.cancellation(), [&] { return s.write(in.inputs); });
}

py::dict report_dict(const pxl::LoadReport& r) {
  py::dict out;
  out["loaded"] = r.loaded;
  out["missing"] = r.missing;
  out["mismatched"] = r.mismatched;
  out["unused"] = r.unused;
  return out;
}

template <class T>
py::list infos(const std::vector<T>& all) {
  py::list out;
  for (const T& info : all)
    out.append(py::make_tuple(info.name, dtype_of(info.dtype), py::tuple(py::cast(info.shape))));
  return out;
}

}  // namespace

PYBIND11_MODULE(_pxl, m) {
  define_errors(m);
  m.attr("__version__") = std::string(pxl::version());
  m.attr("engines") = [] {
    py::list names;
    for (const pxl::EngineInfo& e : pxl::engines()) names.append(std::string(e.name));
    return py::tuple(names);
  }();

  py::class_<pxl::Opaque>(m, "Opaque")
      .def_readonly("type", &pxl::Opaque::type)
      .def_readonly("text", &pxl::Opaque::text)
      .def("__repr__", [](const pxl::Opaque& o) { return o.text; });

  py::class_<Program>(m, "Program")
      .def("session", make_session, py::arg(), py::arg(), py::arg(), py::arg(), py::arg().none(true))
      .def("eval", evaluate)
      .def("call", [](Program& p, const std::string& function, const py::args& args,
                      const py::kwargs& named) { return call_function(p, function, args, named); })
      .def("programs", [](Program& p) { return call(pxl::Cancel(), nullptr, [&] { return p.program.programs(); }); })
      .def("names", [](Program& p) { return call(pxl::Cancel(), nullptr, [&] { return p.program.names(); }); });

  py::class_<pxl::Session>(m, "Session")
      .def("run", run)
      .def("run_into", run_into)
      .def("read",
           [](pxl::Session& s, const std::string& name) {
             return array_of(call(
                 s.cancellation(), nullptr, [&] { return s.read(name); }, true));
           })
      .def("call", call_net)
      .def("write", write)
      .def("save",
           [](pxl::Session& s, const std::string& path) { call_void(s.cancellation(), [&] { return s.save(path); }); })
      .def("restore",
           [](pxl::Session& s, const std::string& path, bool strict, bool transpose_linear,
              const std::optional<std::map<std::string, std::optional<std::string>>>& map, bool states) {
             pxl::RestoreOptions options{strict, transpose_linear, {}, states};
             if (map)
               options.variable_of = [&](const std::string& entry) -> std::optional<std::string> {
                 const auto found = map->find(entry);
                 return found == map->end() ? entry : found->second;
               };
             return report_dict(call(s.cancellation(), nullptr, [&] { return s.restore(path, options); }));
           })
      .def("load_from",
           [](pxl::Session& s, pxl::Session& other) {
             return report_dict(call(s.cancellation(), nullptr, [&] { return s.load_from(other); }));
           })
      .def("report", [](pxl::Session& s) { return call(s.cancellation(), nullptr, [&] { return s.report(); }); })
      .def("cancel", &pxl::Session::cancel)
      .def("inputs", [](const pxl::Session& s) { return infos(s.inputs()); })
      .def("outputs", [](const pxl::Session& s) { return infos(s.outputs()); })
      .def("variables", [](const pxl::Session& s) { return infos(s.variables()); })
      .def("linear_weights",
           [](const pxl::Session& s) {
             py::set out;
             for (const pxl::VariableInfo& v : s.variables())
               if (v.linear) out.add(py::str(v.name));
             return out;
           })
      .def_property_readonly("engine", &pxl::Session::engine)
      .def_property_readonly("device", &pxl::Session::device);

  m.def("load", [](const std::string& path, std::map<std::string, std::string> options) {
    return loaded(std::move(options), [&](const pxl::LoadOptions& given) { return pxl::Program::load(path, given); });
  });
  m.def("from_text", [](const std::string& text, std::map<std::string, std::string> options, const std::string& title) {
    return loaded(std::move(options),
                  [&](const pxl::LoadOptions& given) { return pxl::Program::from_text(text, given, title); });
  });
  m.def("eval", eval);
  m.def("_end_calls", end_calls);
  m.def("_forget_calls", forget_calls);
  // The address at which the library reads an object's elements: tests check that it is the object's own memory.
  m.def("_address", [](const py::handle& object) {
    return reinterpret_cast<uintptr_t>(elements_of(object, "the array").view.data);
  });
}

}  // namespace pxl_python
