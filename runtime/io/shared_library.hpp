// Libraries of file formats, opened when the first file of their format is: a start of pxl does not load them.
#pragma once

#include <string>

namespace pxl {

class SharedLibrary {
 public:
  /// `file` is a name with its ABI version ("libzip.so.4"), `package` the Debian package that has it.
  SharedLibrary(std::string file, std::string package) : file_(std::move(file)), package_(std::move(package)) {}

  /// The function of this name, with the type of its declaration: `library.find<decltype(zip_open)>("zip_open")`. Opens
  /// the library on first use. Throws run_error naming the package if there is none.
  template <class Function>
  Function* find(const char* name) {
    return reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const char* name);

  std::string file_, package_;
  void* handle_ = nullptr;  // never closed: libraries may have threads or handlers at exit
};

}  // namespace pxl

/// PXL_LIBRARY_FUNCTION(library, zip_open) defines `zip_open_` of the struct that it is in.
#define PXL_LIBRARY_FUNCTION(library, name) decltype(::name)* name##_ = library.find<decltype(::name)>(#name)
