// Runs a script in several processes: starts them, and ends them together.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "interpreter/cli/command.hpp"
#include "runtime/base/files/installation.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/processes/launch.hpp"
#include "runtime/processes/liveness.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl::cli {

namespace {

using namespace std::chrono_literals;

/// Every process ends here. If all processes failed with one error, the first process shows it. After an error, or if a
/// peer is lost, no library is shut down in an orderly way.
int end_job(Processes& job, Outcome outcome) {
  try {
    if (outcome.interrupted && !job.lost()) job.check_peers({"while the script ran"});
    if (!outcome.interrupted) job.meet_at_end(outcome.status, outcome.error ? &*outcome.error : nullptr);
  } catch (...) {
    outcome = outcome_of([]() -> int { throw; });
  }
  if (termination_requested() && !outcome.error) {
    flush_out();
    if (silenced()) std::this_thread::sleep_for(2s);  // another process reports the cause, and ends this one
    ::_exit(exit_interrupted);
  }
  if (job.lost()) mute_streams(false);
  const int status = report(outcome);
  flush_out();
  if (!outcome.error && !outcome.interrupted) {
    job.finish();
    return status;
  }
  // The process that prints the error ends the job. If it cannot, the other processes do.
  if (job.rank() != 0 && !job.lost()) std::this_thread::sleep_for(2s);
  job.abort(status);
  ::_exit(status);
}

/// Ends a process that waits in MPI's start or end. Called from another thread.
[[noreturn]] void end_waiting(const Error* error) {
  if (!error) ::_exit(exit_interrupted);
  mute_streams(false);
  const int status = report(*error);
  flush_out();
  ::_exit(status);
}

}  // namespace

int guarded_in_job(const CommonFlags& flags, const std::function<int()>& body) {
  if (!started_by_launcher()) return guarded(body);
  const Outcome joined = outcome_of([&] {
    join_job(flags.timeout, end_waiting);
    return exit_ok;
  });
  Processes& job = processes();
  if (joined.error || joined.interrupted) return report(joined);
  if (job.several()) return end_job(job, outcome_of(body));
  const int status = guarded(body);
  job.finish();
  return status;
}

void launch(const CommonFlags& flags, const std::vector<std::string>& arguments) {
  LaunchOptions options;
  options.ranks = flags.ranks;
  for (size_t at = 0; !flags.hosts.empty() && at <= flags.hosts.size();) {
    const size_t end = std::min(flags.hosts.find(',', at), flags.hosts.size());
    options.hosts.push_back(flags.hosts.substr(at, end - at));
    at = end + 1;
  }
  std::vector<std::string> program = {own_program(), "run"};
  const auto add_if = [&](bool given, std::initializer_list<std::string> words) {
    if (given) program.insert(program.end(), words);
  };
  add_if(flags.quiet, {"--quiet"});
  add_if(flags.profile, {"--profile"});
  add_if(!flags.engine.empty(), {"--engine", flags.engine});
  add_if(flags.nancheck, {"--nancheck"});
  add_if(flags.json, {"--json"});
  program.insert(program.end(), {"--timeout", fmt::format("{}", flags.timeout)});
  program.insert(program.end(), arguments.begin(), arguments.end());
  const std::vector<std::string> command = launch_command(options, program);
  if (!flags.quiet) print_err("{}\n", join_texts(command, " "));
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  flush_out();
  ::execv(words[0], words.data());
  throw run_error(fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
}

}  // namespace pxl::cli
