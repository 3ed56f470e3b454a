/* The C interface of pxl, over the C++ one (pxl/pxl.hpp), which documents the same functions in full.
 *
 * Functions that can fail return an error, to be freed with pxl_error_free, or NULL if all went well; the results are
 * then in their last argument. Texts are UTF-8. Functions are thread-safe, except that an object is freed once, after
 * all calls with it have returned. NULL for a pointer that a function needs is an error; of NULL, and of an index
 * beyond the last, functions without errors return "", 0 or an info without a name. Freeing NULL does nothing. */
#ifndef PXL_PXL_H
#define PXL_PXL_H

#include <stddef.h>
#include <stdint.h>

#include "pxl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pxl_error pxl_error;
typedef struct pxl_program pxl_program;
typedef struct pxl_session pxl_session;

typedef enum {
  PXL_BOOL,
  PXL_INT8,
  PXL_INT16,
  PXL_INT32,
  PXL_INT64,
  PXL_UINT8,
  PXL_UINT16,
  PXL_UINT32,
  PXL_UINT64,
  PXL_FLOAT16,
  PXL_FLOAT32,
  PXL_FLOAT64,
  PXL_FLOAT8_143,
  PXL_FLOAT8_152,
  PXL_BFLOAT16,
  PXL_FLOAT8_E4M3FN,
  PXL_FLOAT8_E5M2
} pxl_dtype;

/* An array in the caller's memory, dense and row-major, under the name of a stream or variable. */
typedef struct {
  const char* name;
  pxl_dtype dtype;
  size_t rank;
  const int64_t* shape; /* `rank` extents; may be NULL if it is 0 */
  void* data;           /* only read where the array is given */
} pxl_array;

/* A stream or variable. Texts and shapes live as long as the session. */
typedef struct {
  const char* name;
  pxl_dtype dtype;
  size_t rank;
  const int64_t* shape;
} pxl_info;

/* A value of an `option` of the program. */
typedef struct {
  const char* name;
  const char* value;
} pxl_option;

/* "0.2.0" */
PXL_API const char* pxl_version(void);

/* ---- errors: texts live as long as the error */
/* All that the command would print: places, messages, lines with carets, notes. */
PXL_API const char* pxl_error_text(const pxl_error* error);
/* Of the first diagnostic: one line; the section of docs/errors.md; file, line and column (0 if there is no place). */
PXL_API const char* pxl_error_message(const pxl_error* error);
PXL_API const char* pxl_error_kind(const pxl_error* error);
PXL_API const char* pxl_error_file(const pxl_error* error);
PXL_API int pxl_error_line(const pxl_error* error);
PXL_API int pxl_error_column(const pxl_error* error);
/* Whether pxl_cancel caused it. */
PXL_API int pxl_error_is_cancelled(const pxl_error* error);
PXL_API void pxl_error_free(pxl_error* error);

/* ---- programs: files or texts that have run */
PXL_API pxl_error* pxl_load(const char* path, const pxl_option* options, size_t num_options, pxl_program** program);
PXL_API pxl_error* pxl_load_text(const char* text, const pxl_option* options, size_t num_options,
                                 pxl_program** program);
PXL_API void pxl_program_free(pxl_program* program);

/* ---- sessions */
/* `what` is a program's name or a call: "infer(n = 8)". `engine` may be NULL for the default. */
PXL_API pxl_error* pxl_session_create(pxl_program* program, const char* what, const char* engine,
                                      pxl_session** session);
/* The session may outlive its program. */
PXL_API void pxl_session_free(pxl_session* session);

/* One run. Results are written to the caller's memory; outputs that are not named are dropped. */
PXL_API pxl_error* pxl_run(pxl_session* session, const pxl_array* inputs, size_t num_inputs, const pxl_array* outputs,
                           size_t num_outputs);
/* Ends the run in progress, or the next one. From any thread, and from signal handlers. */
PXL_API void pxl_cancel(pxl_session* session);

PXL_API size_t pxl_num_inputs(const pxl_session* session);
PXL_API size_t pxl_num_outputs(const pxl_session* session);
PXL_API size_t pxl_num_variables(const pxl_session* session);
/* A stream or variable by its index. */
PXL_API pxl_info pxl_input(const pxl_session* session, size_t index);
PXL_API pxl_info pxl_output(const pxl_session* session, size_t index);
PXL_API pxl_info pxl_variable(const pxl_session* session, size_t index);

/* The values of variables to the caller's memory, of their dtypes and shapes; and back: all of them, or none if one
 * does not fit. */
PXL_API pxl_error* pxl_read(pxl_session* session, const pxl_array* values, size_t num_values);
PXL_API pxl_error* pxl_write(pxl_session* session, const pxl_array* values, size_t num_values);

/* All variables to NAME.safetensors, and back. */
PXL_API pxl_error* pxl_save(pxl_session* session, const char* path);
PXL_API pxl_error* pxl_restore(pxl_session* session, const char* path);

/* Memory, cycles: JSON, to be freed with pxl_text_free. */
PXL_API pxl_error* pxl_report(pxl_session* session, char** json);
PXL_API void pxl_text_free(char* text);

#ifdef __cplusplus
}
#endif

#endif
