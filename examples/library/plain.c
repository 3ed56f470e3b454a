/* One run of a program, from C. */
#include <pxl/pxl.h>
#include <stdio.h>

/* Prints what failed; whether anything did. */
static int failed(pxl_error* error) {
  if (!error) return 0;
  fputs(pxl_error_text(error), stderr);
  pxl_error_free(error);
  return 1;
}

int main(void) {
  const char* text =
      "program scale {\n"
      "  stream in x: float32[3]\n"
      "  variable factor: float32[] = 2\n"
      "  stream out y = host_load(x) * factor\n"
      "}\n";
  const int64_t three = 3;
  float x[3] = {1, 2, 3}, y[3], factor = 10;
  const pxl_array in = {"x", PXL_FLOAT32, 1, &three, x}, out = {"y", PXL_FLOAT32, 1, &three, y};
  const pxl_array weight = {"factor", PXL_FLOAT32, 0, NULL, &factor};
  pxl_program* program = NULL;
  pxl_session* session = NULL;
  int bad = failed(pxl_load_text(text, NULL, 0, &program)) ||
            failed(pxl_session_create(program, "scale", NULL, &session)) || failed(pxl_write(session, &weight, 1)) ||
            failed(pxl_run(session, &in, 1, &out, 1));
  if (!bad) printf("%g %g %g\n", y[0], y[1], y[2]);
  pxl_session_free(session);
  pxl_program_free(program);
  return bad;
}
