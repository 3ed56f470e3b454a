#include "runtime/processes/launch.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/installation.hpp"
#include "runtime/base/files/output_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/filter_program.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/threads/cores.hpp"
#include "runtime/processes/liveness.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl {

namespace {

/// A variable by which a launcher is known, and the one with the number of the process.
struct LauncherVariables {
  const char *known_by, *rank;
};
/// The variables through which Open MPI, MPICH (and launchers with its PMI) and PMIx inform the processes that they
/// start.
constexpr std::array launchers = {LauncherVariables{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                  LauncherVariables{"PMI_SIZE", "PMI_RANK"},
                                  LauncherVariables{"PMIX_RANK", "PMIX_RANK"}};

/// The launcher that has started this process; null if none has.
const LauncherVariables* launcher() {
  const auto found = std::find_if(launchers.begin(), launchers.end(), [](const LauncherVariables& l) {
    const char* value = std::getenv(l.known_by);
    return value && *value;
  });
  return found == launchers.end() ? nullptr : &*found;
}

int launcher_rank() {
  const char* value = launcher() ? std::getenv(launcher()->rank) : nullptr;
  return value ? static_cast<int>(std::strtol(value, nullptr, 10)) : 0;
}

Error late_start(double timeout) {
  std::vector<std::string> stopped;
  for (const int64_t pid : stopped_siblings()) stopped.push_back(fmt::format("process {}, which is stopped", pid));
  const std::string whom = stopped.empty() ? std::string("the other processes") : join_texts(stopped, ", ");
  return run_error(fmt::format("waited {} s for {}, at the start of the job", timeout, whom), {timeout_note})
      .as(codes::replicas);
}

Error no_plug_in(std::string message) {
  return Error(std::move(message),
               {"install the package pxl-mpi; or libopenmpi-dev and openmpi-bin, then build pxl again: it makes "
                "pxl-mpi.so "
                "where CMake finds MPI"},
               Fault::failed)
      .as(codes::replicas);
}

std::unique_ptr<Transport> open_plug_in() {
  const std::string path = companion_file("pxl-mpi.so");
  if (::access(path.c_str(), R_OK) != 0)
    throw no_plug_in(fmt::format("a launcher has started pxl, but {} is missing", path));
  // Global: the parts of MPI that it opens itself need its symbols.
  void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!module) throw no_plug_in(fmt::format("cannot open {}: {}", path, ::dlerror()));
  const auto open = reinterpret_cast<OpenTransport>(::dlsym(module, open_transport_name));
  std::string why = "it is no plug-in of pxl";
  std::unique_ptr<Transport> transport(open ? open(&why) : nullptr);
  if (!transport) throw no_plug_in(fmt::format("cannot use {}: {}", path, why));
  return transport;
}

/// The first program of this name in PATH; empty if there is none.
std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  const std::string_view all = path ? path : "";
  for (size_t at = 0; at <= all.size();) {
    const size_t end = std::min(all.find(':', at), all.size());
    const std::string file = fmt::format("{}/{}", all.substr(at, end - at), name);
    if (end > at && ::access(file.c_str(), X_OK) == 0) return file;
    at = end + 1;
  }
  return {};
}

bool is_open_mpi(const std::string& mpirun) {
  const std::string version = run_filter({mpirun, "--version"}, "").output;
  return version.substr(0, version.find('\n')).find("Open MPI") != version.npos;
}

/// A launcher passes the names to ssh, and both treat a name that begins with `-` as an option.
void check_host(const std::string& host) {
  const auto may_be = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(".-_:[]%@").find(c) != std::string_view::npos;
  };
  if (!host.empty() && host[0] != '-' && std::all_of(host.begin(), host.end(), may_be)) return;
  throw Error(fmt::format("--hosts: `{}` is no name of a machine", host), {"`--hosts a,b`"}, Fault::usage);
}

}  // namespace

bool started_by_launcher() { return launcher() != nullptr; }

void divide_cores(const Processes& job) {
  if (number_of(Setting::threads)) return;
  ::setenv("PXL_THREADS", std::to_string(std::max(1, usable_cores() / job.sharing_cores())).c_str(), 1);
}

void join_job(double timeout, Watchdog::End end) {
  auto watchdog = std::make_unique<Watchdog>(std::move(end));
  std::unique_ptr<Transport> transport;
  const auto late = [timeout] { return late_start(timeout); };
  watchdog->during(timeout + reporting_delay(launcher_rank()), late, [&] { transport = open_plug_in(); });
  set_processes(std::make_unique<Processes>(std::move(transport), timeout, std::move(watchdog)));
  Processes& job = processes();
  if (!job.several()) return;
  handle_termination();
  divide_cores(job);
  // Kernels for unlike processors have unlike bits.
  if (job.processors_differ()) {
    const std::string common = job.common_instruction_set();
    ::setenv("PXL_ISA", common.c_str(), 1);
    if (job.rank() == 0) print_err("the processors of the job differ: all use the kernels for {}\n", common);
  }
  set_file_gate({job.rank() == 0, [&job](const std::string& path) { job.meet("write " + path, {}); }});
  if (job.rank() != 0) mute_streams(true);
}

std::vector<std::string> launch_command(const LaunchOptions& options, const std::vector<std::string>& program) {
  std::for_each(options.hosts.begin(), options.hosts.end(), check_host);
  if (std::find(program.begin(), program.end(), ":") != program.end())
    throw Error("--ranks: mpirun takes the argument `:` for the end of the program's arguments",
                {"give it as a part of a longer argument, `--NAME=:`"}, Fault::usage);
  const std::string mpirun = find_program("mpirun");
  if (mpirun.empty())
    throw Error("--ranks: there is no mpirun", {"install openmpi-bin, or start pxl with the launcher of your cluster"},
                Fault::failed)
        .as(codes::replicas);
  std::vector<std::string> words = {mpirun, "-n", std::to_string(options.ranks)};
  const auto add = [&](std::initializer_list<const char*> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (is_open_mpi(mpirun)) {
    // pxl divides cores among processes itself, and may run more processes than cores.
    add({"--mca", "orte_execute_quiet", "1", "--bind-to", "none", "--oversubscribe"});  // Open MPI 5 has no --quiet
    if (::geteuid() == 0) add({"--allow-run-as-root"});
    const int hosts = static_cast<int>(options.hosts.size());
    std::vector<std::string> slots;
    for (const std::string& host : options.hosts)
      slots.push_back(fmt::format("{}:{}", host, (options.ranks + hosts - 1) / hosts));
    if (hosts > 0) add({"--host", join_texts(slots, ",").c_str()});
  } else if (!options.hosts.empty()) {
    add({"-hosts", join_texts(options.hosts, ",").c_str()});
  }
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

}  // namespace pxl
