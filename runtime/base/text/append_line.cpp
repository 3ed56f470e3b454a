#include "runtime/base/text/append_line.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/files/output_file.hpp"

namespace pxl {

void append_line(const std::string& path, std::string line) {
  if (path.find('\0') != path.npos) throw run_error("cannot write a file whose name has a zero byte").as(codes::write);
  line += '\n';
  write_once(path, [&] {
    const Descriptor file = open_to_write(path, Opening::appended);
    const ssize_t written = file.fd < 0 ? -1 : ::write(file.fd, line.data(), line.size());
    if (written == static_cast<ssize_t>(line.size())) return;
    const char* reason = written < 0 ? std::strerror(errno) : "the disk is full";
    throw run_error("cannot write " + path + ": " + reason).as(codes::write);
  });
}

}  // namespace pxl
