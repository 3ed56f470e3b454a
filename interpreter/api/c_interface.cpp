// The C interface, over the C++ one.
#include <cstdlib>
#include <cstring>
#include <new>

#include "interpreter/api/access.hpp"
#include "pxl/program.hpp"
#include "pxl/pxl.h"
#include "runtime/base/diagnostic.hpp"

using namespace pxl;

struct pxl_error {
  v1::Error error;
  std::string text;
};
struct pxl_program {
  v1::Program program;
};
struct pxl_session {
  v1::Session session;
};

namespace {

static_assert(static_cast<int>(v1::DType::bfloat16) == PXL_BFLOAT16 &&
              static_cast<int>(v1::DType::boolean) == PXL_BOOL && static_cast<int>(v1::DType::float32) == PXL_FLOAT32);

pxl_error* failed(v1::Error error) {
  std::string text = error.text();
  return new pxl_error{std::move(error), std::move(text)};
}

template <class T>
pxl_error* result(const v1::Result<T>& r) {
  return r ? nullptr : failed(r.error());
}

/// No exception leaves the library, whatever the caller's pointers name.
template <class F>
pxl_error* guarded(F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return failed(api::current_error());
  }
}

/// A text that the caller has to give.
const char* text_of(const char* text, const char* what) {
  if (!text) throw Error(std::string(what) + " is NULL", {}, Fault::usage);
  return text;
}

v1::Shape shape_of(const pxl_array& a) { return a.rank == 0 ? v1::Shape() : v1::Shape(a.shape, a.shape + a.rank); }
v1::View view_of(const pxl_array& a) { return {static_cast<v1::DType>(a.dtype), shape_of(a), a.data}; }

std::vector<v1::Input> inputs_of(const pxl_array* arrays, size_t count) {
  std::vector<v1::Input> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back({text_of(arrays[i].name, "the name of an array"), view_of(arrays[i])});
  return out;
}

v1::LoadOptions options_of(const pxl_option* options, size_t count) {
  v1::LoadOptions out;
  for (size_t i = 0; i < count; ++i)
    out.options[text_of(options[i].name, "the name of an option")] =
        text_of(options[i].value, "the value of an option");
  return out;
}

pxl_error* created(v1::Result<v1::Program> loaded, pxl_program** program) {
  if (!loaded) return failed(loaded.error());
  *program = new pxl_program{*std::move(loaded)};
  return nullptr;
}

template <class T>
pxl_info info_of(const T& of) {
  return {of.name.c_str(), static_cast<pxl_dtype>(of.dtype), of.shape.size(), of.shape.data()};
}

}  // namespace

extern "C" {

const char* pxl_version(void) { return v1::version().data(); }

const char* pxl_error_text(const pxl_error* e) { return e->text.c_str(); }
const char* pxl_error_message(const pxl_error* e) { return e->error.message().c_str(); }
const char* pxl_error_kind(const pxl_error* e) { return e->error.first().kind.c_str(); }
const char* pxl_error_file(const pxl_error* e) { return e->error.first().place.file.c_str(); }
int pxl_error_line(const pxl_error* e) { return e->error.first().place.line; }
int pxl_error_column(const pxl_error* e) { return e->error.first().place.column; }
int pxl_error_is_cancelled(const pxl_error* e) { return e->error.failure == v1::Failure::cancelled; }
void pxl_error_free(pxl_error* e) { delete e; }

pxl_error* pxl_load(const char* path, const pxl_option* options, size_t num_options, pxl_program** program) {
  return guarded(
      [&] { return created(v1::Program::load(text_of(path, "the path"), options_of(options, num_options)), program); });
}
pxl_error* pxl_load_text(const char* text, const pxl_option* options, size_t num_options, pxl_program** program) {
  return guarded([&] {
    return created(v1::Program::from_text(text_of(text, "the text"), options_of(options, num_options)), program);
  });
}
void pxl_program_free(pxl_program* p) { delete p; }

pxl_error* pxl_session_create(pxl_program* program, const char* what, const char* engine, pxl_session** session) {
  return guarded([&]() -> pxl_error* {
    v1::SessionOptions options;
    if (engine) options.engine = engine;
    v1::Result<v1::Session> made = program->program.session(text_of(what, "the program to run"), options);
    if (!made) return failed(made.error());
    *session = new pxl_session{*std::move(made)};
    return nullptr;
  });
}
void pxl_session_free(pxl_session* s) { delete s; }

pxl_error* pxl_run(pxl_session* s, const pxl_array* inputs, size_t num_inputs, const pxl_array* outputs,
                   size_t num_outputs) {
  return guarded([&] {
    std::vector<v1::Output> into;
    for (size_t i = 0; i < num_outputs; ++i)
      into.push_back(
          {outputs[i].name, {static_cast<v1::DType>(outputs[i].dtype), shape_of(outputs[i]), outputs[i].data}});
    return result(s->session.run(inputs_of(inputs, num_inputs), into));
  });
}
void pxl_cancel(pxl_session* s) { s->session.cancel(); }

size_t pxl_num_inputs(const pxl_session* s) { return s->session.inputs().size(); }
size_t pxl_num_outputs(const pxl_session* s) { return s->session.outputs().size(); }
size_t pxl_num_variables(const pxl_session* s) { return s->session.variables().size(); }
pxl_info pxl_input(const pxl_session* s, size_t i) { return info_of(s->session.inputs()[i]); }
pxl_info pxl_output(const pxl_session* s, size_t i) { return info_of(s->session.outputs()[i]); }
pxl_info pxl_variable(const pxl_session* s, size_t i) { return info_of(s->session.variables()[i]); }

pxl_error* pxl_read(pxl_session* s, const pxl_array* values, size_t num_values) {
  return guarded([&]() -> pxl_error* {
    for (size_t i = 0; i < num_values; ++i) {
      const v1::Result<v1::Array> value = s->session.read(text_of(values[i].name, "the name of an array"));
      if (!value) return failed(value.error());
      const v1::View wanted = view_of(values[i]);
      if (value->dtype() != wanted.dtype || value->shape() != wanted.shape)
        return failed(api::usage_error(std::string("pxl_read: the memory for `") + values[i].name +
                                       "` has another dtype or shape than the variable"));
      const size_t bytes = static_cast<size_t>(value->size()) * v1::size_of(value->dtype());
      if (bytes > 0) std::memcpy(values[i].data, value->data(), bytes);
    }
    return nullptr;
  });
}
pxl_error* pxl_write(pxl_session* s, const pxl_array* values, size_t num_values) {
  return guarded([&] { return result(s->session.write(inputs_of(values, num_values))); });
}

pxl_error* pxl_save(pxl_session* s, const char* path) {
  return guarded([&] { return result(s->session.save(text_of(path, "the path"))); });
}
pxl_error* pxl_restore(pxl_session* s, const char* path) {
  return guarded([&] { return result(s->session.restore(text_of(path, "the path"))); });
}

pxl_error* pxl_report(pxl_session* s, char** json) {
  return guarded([&]() -> pxl_error* {
    const v1::Result<std::string> text = s->session.report();
    if (!text) return failed(text.error());
    char* copy = static_cast<char*>(std::malloc(text->size() + 1));
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy, text->c_str(), text->size() + 1);
    *json = copy;
    return nullptr;
  });
}
void pxl_text_free(char* text) { std::free(text); }
}
