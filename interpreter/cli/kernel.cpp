// `pxl kernel`: installs or runs the Jupyter kernel.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/logo.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/installation.hpp"
#include "runtime/base/files/standard_streams.hpp"

namespace pxl::cli {

namespace {

namespace fs = std::filesystem;

constexpr Flag kernel_flags[] = {{"--install", "", "install the Jupyter kernel"},
                                 {"--user", "", "for this user (the default)"},
                                 {"--prefix", "DIR", "below DIR: DIR/share/jupyter/kernels/pxl"},
                                 {"--program", "FILE", "the command that Jupyter starts; default: this one"},
                                 {"--connection", "FILE", "run the kernel; passed by Jupyter", "-f"}};

fs::path user_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value ? std::string(value) : std::string();
  };
  if (const std::string own = variable("JUPYTER_DATA_DIR"); !own.empty()) return own;
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) return fs::path(data) / "jupyter";
  const std::string home = variable("HOME");
  if (home.empty())
    throw Error("there is no home folder", {"`--prefix DIR` names the folder to install below"}, Fault::usage);
  return fs::path(home) / ".local/share/jupyter";
}

int install(const Invocation& call) {
  const fs::path base = call.has("--prefix") ? fs::path(call.value("--prefix")) / "share/jupyter" : user_folder();
  const fs::path folder = base / "kernels/pxl";
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    throw Error(fmt::format("cannot make the folder {}: {}", folder.string(), failed.message()), {}, Fault::unreadable);
  const nlohmann::json description = {
      {"argv", {call.value("--program", own_program()), "kernel", "-f", "{connection_file}"}},
      {"display_name", "pxl"},
      {"language", "pxl"},
      {"interrupt_mode", "signal"},
      {"metadata", {{"debugger", false}}}};
  write_file_atomically((folder / "kernel.json").string(), description.dump(2) + "\n");
  for (const int size : {32, 64})
    write_file_atomically((folder / fmt::format("logo-{0}x{0}.png", size)).string(), logo_png(size));
  print_out("{}\n", folder.string());
  return exit_ok;
}

int run_kernel(const CommonFlags&, const std::vector<std::string>& arguments);

}  // namespace

const Command kernel_command{
    "kernel",
    "kernel --install [--user | --prefix DIR] [--program FILE]",
    "install or run the Jupyter kernel",
    run_kernel,
    kernel_flags,
    "After `pxl kernel --install` notebooks offer pxl. Jupyter then starts `pxl kernel -f FILE` by itself."};

namespace {

int run_kernel(const CommonFlags&, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(kernel_command, arguments);
  if (!call.operands.empty())
    throw Error(fmt::format("unexpected `{}`", call.operands.front()), {kernel_command.usage.data()}, Fault::usage);
  const std::string program = companion_file("pxl-kernel");
  if (call.has("--install")) {
    if (!call.has("--program") && !fs::exists(program))
      throw Error("this pxl has no Jupyter kernel",
                  {PXL_HAS_XEUS ? "install the package pxl-jupyter, or build the target pxl-kernel"
                                : "run scripts/setup, configure anew and build again"},
                  Fault::usage);
    return install(call);
  }
  if (!call.has("--connection")) throw Error("kernel needs --install, or -f FILE from Jupyter", {}, Fault::usage);
  const std::string file = call.value("--connection");
  execl(program.c_str(), program.c_str(), "-f", file.c_str(), static_cast<char*>(nullptr));
  throw Error(fmt::format("cannot start {}", program), {"it is built where scripts/setup has installed what it needs"},
              Fault::unreadable);
}

}  // namespace

}  // namespace pxl::cli
