// What cmake/precompiled.cmake compiles the headers of the standard library and fmt with, once for all layers.
