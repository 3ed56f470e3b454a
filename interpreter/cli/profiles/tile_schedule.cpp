#include "interpreter/cli/profiles/tile_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/cli/json.hpp"
#include "interpreter/cli/terminal/waiting.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/tiles/cuts/schedule_cuts.hpp"

namespace pxl::cli {

namespace {

std::shared_ptr<const tiles::CutFile> cuts_of(const Invocation& call, const Programs& programs) {
  const bool from = call.has(from_flag.name), start = call.has(start_flag.name);
  if (from && start) throw Error("schedule: --from and --start exclude each other", {}, Fault::usage);
  if (!from && !start) {
    if (call.has(compare_flag.name))
      throw Error("schedule: --compare needs cuts to compare", {"--from CUTS"}, Fault::usage);
    return nullptr;
  }
  auto cuts = tiles::read_cuts(call.value(from ? from_flag.name : start_flag.name),
                               start ? tiles::CutUse::start : tiles::CutUse::exact);
  std::vector<std::string> names = programs.labels;
  for (const auto& ir : programs.irs) names.insert(names.end(), {ir->name(), program_line(*ir)});
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  cuts->check_programs(names);
  return cuts;
}

}  // namespace

bool is_on_tiles(const Invocation& call) {
  const std::string_view flags[] = {machine_flag.name, proportion_flag.name, partials_flag.name, plans_flag.name,
                                    from_flag.name,    start_flag.name,      compare_flag.name,  execute_flag.name};
  return std::any_of(std::begin(flags), std::end(flags), [&](std::string_view flag) { return call.has(flag); });
}

int run_on_tiles(const CommonFlags& common, const Script& script, const Invocation& call, const Programs& programs,
                 bool json) {
  tiles::EstimateOptions options = estimate_options_of(call);
  options.cuts = cuts_of(call, programs);
  tiles::EstimateOptions searched = options;
  searched.cuts = nullptr;
  for (size_t i = 0; i < programs.irs.size(); ++i) {
    check_interrupt();
    const Ir& ir = *programs.irs[i];
    const std::string& label = programs.labels[i];
    options.cut_program = label;
    const Waiting waiting(fmt::format("planning program {}", label), common.quiet);
    const tiles::Schedule planned = tiles::plan(ir.main(), options);
    if (call.has(from_flag.name) && !planned.report.fits) throw tiles::cuts_shortage(planned, ir.main(), options);
    const tiles::CutCounts counts = tiles::count_cuts(planned);
    if (options.cuts && !common.quiet)
      print_err("{}: {} of {} ops and tensors take their cut from {}; {} are searched\n", label, counts.taken,
                counts.all, options.cuts->name(), counts.all - counts.taken);
    if (call.has(execute_flag.name)) continue;
    const std::string text = call.has(compare_flag.name)
                                 ? tiles::cuts_difference(planned, tiles::plan(ir.main(), searched))
                                 : tiles::cuts_text(planned, label);
    if (json)
      emit({{"event", "cuts"}, {"program", label}, {"taken", counts.taken}, {"all", counts.all}, {"text", text}});
    else
      print_out("{}{}", i > 0 ? "\n" : "", text);
  }
  if (!call.has(execute_flag.name)) return exit_ok;
  tiles::set_standard_machine(options.machine);
  if (options.cuts)
    tiles::set_standard_cuts(call.has(start_flag.name) ? options.cuts : options.cuts->used_for(tiles::CutUse::session));
  CommonFlags flags = common;
  flags.engine = "tiles";
  std::vector<std::string> words = {script.file};
  words.insert(words.end(), script.options.begin(), script.options.end());
  return run_script(flags, words);
}

}  // namespace pxl::cli
