// The C interface, implemented on the C++ interface.
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

#include "interpreter/api/access.hpp"
#include "pxl/program.hpp"
#include "pxl/pxl.h"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/tensor/shape.hpp"

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

static_assert(static_cast<int>(v1::DType::float8_e5m2) == PXL_FLOAT8_E5M2 &&
              static_cast<int>(v1::DType::boolean) == PXL_BOOL && static_cast<int>(v1::DType::float32) == PXL_FLOAT32);

pxl_error* failed(v1::Error error) {
  std::string text = error.text();
  return new pxl_error{std::move(error), std::move(text)};
}

template <class T>
pxl_error* result(const v1::Result<T>& r) {
  return r ? nullptr : failed(r.error());
}

/// No exception leaves the library, whatever the caller's pointers point at.
template <class F>
pxl_error* guarded(F&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return failed(api::current_error());
  }
}

template <class T>
T& given(T* pointer, const char* what) {
  if (!pointer) throw Error(std::string(what) + " is NULL", {}, Fault::usage).as(codes::usage);
  return *pointer;
}
const char* text_of(const char* text, const char* what) { return &given(text, what); }

/// Elements that the caller must supply if the count is not 0.
template <class T>
std::span<const T> span_of(const T* all, size_t count, const char* what) {
  if (count == 0) return {};
  return {&given(all, what), count};
}

v1::DType dtype_of(const pxl_array& a) {
  int number = 0;  // the caller may pass any number, but a pxl_dtype has only those of its list
  static_assert(sizeof number == sizeof a.dtype);
  std::memcpy(&number, &a.dtype, sizeof number);
  if (number < 0 || number > PXL_FLOAT8_E5M2)
    throw Error("an array has the dtype " + std::to_string(number) + ", which there is not", {}, Fault::usage)
        .as(codes::dtype);
  return static_cast<v1::DType>(number);
}
v1::Shape shape_of(const pxl_array& a) {
  if (static_cast<uint64_t>(a.rank) > static_cast<uint64_t>(max_rank))
    throw Error("an array has " + std::to_string(a.rank) + " axes", {}, Fault::usage).as(codes::shape);
  const std::span<const int64_t> shape = span_of(a.shape, a.rank, "the shape of an array");
  return {shape.begin(), shape.end()};
}
v1::View view_of(const pxl_array& a) { return {dtype_of(a), shape_of(a), a.data}; }
const char* name_of(const pxl_array& a) { return text_of(a.name, "the name of an array"); }

std::vector<v1::Input> inputs_of(const pxl_array* arrays, size_t count) {
  std::vector<v1::Input> out;
  for (const pxl_array& a : span_of(arrays, count, "a list of arrays")) out.push_back({name_of(a), view_of(a)});
  return out;
}

v1::LoadOptions options_of(const pxl_option* options, size_t count) {
  v1::LoadOptions out;
  for (const pxl_option& o : span_of(options, count, "the list of options"))
    out.options[text_of(o.name, "the name of an option")] = text_of(o.value, "the value of an option");
  return out;
}

/// Loads a program with `load(options)` and stores it.
template <class F>
pxl_error* create(const pxl_option* options, size_t num_options, pxl_program** program, F&& load) {
  return guarded([&]() -> pxl_error* {
    pxl_program*& created = given(program, "where to put the program");
    v1::Result<v1::Program> loaded = load(options_of(options, num_options));
    if (!loaded) return failed(loaded.error());
    created = new pxl_program{*std::move(loaded)};
    return nullptr;
  });
}

v1::Session& session_of(pxl_session* s) { return given(s, "the session").session; }

constexpr pxl_info no_info = {"", PXL_BOOL, 0, nullptr};

/// A stream or variable of a session.
template <class T>
pxl_info info_of(const std::vector<T>& all, size_t index) {
  if (index >= all.size()) return no_info;
  const T& of = all[index];
  return {of.name.c_str(), static_cast<pxl_dtype>(of.dtype), of.shape.size(), of.shape.data()};
}

}  // namespace

extern "C" {

const char* pxl_version(void) { return v1::version().data(); }

const char* pxl_error_text(const pxl_error* e) { return e ? e->text.c_str() : ""; }
const char* pxl_error_message(const pxl_error* e) { return e ? e->error.message().c_str() : ""; }
const char* pxl_error_kind(const pxl_error* e) { return e ? e->error.first().kind.c_str() : ""; }
const char* pxl_error_file(const pxl_error* e) { return e ? e->error.first().place.file.c_str() : ""; }
int pxl_error_line(const pxl_error* e) { return e ? e->error.first().place.line : 0; }
int pxl_error_column(const pxl_error* e) { return e ? e->error.first().place.column : 0; }
int pxl_error_is_cancelled(const pxl_error* e) { return e && e->error.failure == v1::Failure::cancelled; }
void pxl_error_free(pxl_error* e) { delete e; }

pxl_error* pxl_load(const char* path, const pxl_option* options, size_t num_options, pxl_program** program) {
  return create(options, num_options, program,
                [&](const v1::LoadOptions& o) { return v1::Program::load(text_of(path, "the path"), o); });
}
pxl_error* pxl_load_text(const char* text, const pxl_option* options, size_t num_options, pxl_program** program) {
  return create(options, num_options, program,
                [&](const v1::LoadOptions& o) { return v1::Program::from_text(text_of(text, "the text"), o); });
}
void pxl_program_free(pxl_program* p) { delete p; }

pxl_error* pxl_session_create(pxl_program* program, const char* what, const char* engine, pxl_session** session) {
  return guarded([&]() -> pxl_error* {
    pxl_session*& created = given(session, "where to put the session");
    v1::SessionOptions options;
    if (engine) options.engine = engine;
    v1::Result<v1::Session> made =
        given(program, "the program").program.session(text_of(what, "the program to run"), options);
    if (!made) return failed(made.error());
    created = new pxl_session{*std::move(made)};
    return nullptr;
  });
}
void pxl_session_free(pxl_session* s) { delete s; }

pxl_error* pxl_run(pxl_session* s, const pxl_array* inputs, size_t num_inputs, const pxl_array* outputs,
                   size_t num_outputs) {
  return guarded([&] {
    std::vector<v1::Output> into;
    for (const pxl_array& a : span_of(outputs, num_outputs, "the list of outputs"))
      into.push_back({name_of(a), {dtype_of(a), shape_of(a), a.data}});
    return result(session_of(s).run(inputs_of(inputs, num_inputs), into));
  });
}
void pxl_cancel(pxl_session* s) {
  if (s) s->session.cancel();
}

size_t pxl_num_inputs(const pxl_session* s) { return s ? s->session.inputs().size() : 0; }
size_t pxl_num_outputs(const pxl_session* s) { return s ? s->session.outputs().size() : 0; }
size_t pxl_num_variables(const pxl_session* s) { return s ? s->session.variables().size() : 0; }
pxl_info pxl_input(const pxl_session* s, size_t i) { return s ? info_of(s->session.inputs(), i) : no_info; }
pxl_info pxl_output(const pxl_session* s, size_t i) { return s ? info_of(s->session.outputs(), i) : no_info; }
pxl_info pxl_variable(const pxl_session* s, size_t i) { return s ? info_of(s->session.variables(), i) : no_info; }

pxl_error* pxl_read(pxl_session* s, const pxl_array* values, size_t num_values) {
  return guarded([&]() -> pxl_error* {
    for (const pxl_array& a : span_of(values, num_values, "the list of values")) {
      const v1::Result<v1::Array> value = session_of(s).read(name_of(a));
      if (!value) return failed(value.error());
      const v1::View wanted = view_of(a);
      if (value->dtype() != wanted.dtype || value->shape() != wanted.shape)
        return failed(api::usage_error(std::string("pxl_read: the memory for `") + a.name +
                                       "` has another dtype or shape than the variable"));
      const size_t bytes = static_cast<size_t>(value->size()) * v1::size_of(value->dtype());
      if (bytes > 0)
        std::memcpy(&given(static_cast<std::byte*>(a.data), "the memory for a variable"), value->data(), bytes);
    }
    return nullptr;
  });
}
pxl_error* pxl_write(pxl_session* s, const pxl_array* values, size_t num_values) {
  return guarded([&] { return result(session_of(s).write(inputs_of(values, num_values))); });
}

pxl_error* pxl_save(pxl_session* s, const char* path) {
  return guarded([&] { return result(session_of(s).save(text_of(path, "the path"))); });
}
pxl_error* pxl_restore(pxl_session* s, const char* path) {
  return guarded([&] { return result(session_of(s).restore(text_of(path, "the path"))); });
}

pxl_error* pxl_report(pxl_session* s, char** json) {
  return guarded([&]() -> pxl_error* {
    char*& written = given(json, "where to put the text");
    const v1::Result<std::string> text = session_of(s).report();
    if (!text) return failed(text.error());
    char* copy = static_cast<char*>(std::malloc(text->size() + 1));
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy, text->c_str(), text->size() + 1);
    written = copy;
    return nullptr;
  });
}
void pxl_text_free(char* text) { std::free(text); }
}
