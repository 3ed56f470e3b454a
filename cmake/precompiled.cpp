// cmake/precompiled.cmake compiles this file with the headers of the standard library and fmt, once for all layers.
