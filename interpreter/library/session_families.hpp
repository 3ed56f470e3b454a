// Runs of a program with free sizes: the members that a session has made, and the one that a run takes.
#pragma once

#include <string>
#include <vector>

#include "interpreter/graphs/families.hpp"
#include "interpreter/library/sessions.hpp"

namespace pxl {

class ArgReader;

struct FamilyRuns {
  struct Member {
    Sizes sizes;
    Ref<SessionObject> session;  ///< null after its memory was needed for others
    int64_t bytes = 0;           ///< of its plan
    int64_t made = 0, runs = 0;
    double seconds = 0;  ///< to make it, all times together
  };
  std::vector<Member> members;  ///< the last one used comes first; without the exemplar
  int64_t runs_of_exemplar = 0;
  int64_t keep = int64_t{1} << 30;            ///< bytes of the members' plans
  std::vector<std::vector<int64_t>> allowed;  ///< by free size: to which a run rounds it up, ascending; empty: any
  const Stream* rows = nullptr;               ///< gets the number of rows that are no padding
};

/// Reads `sizes` and `keep` of a session; null for a program without free sizes. Throws where they do not fit it.
std::shared_ptr<FamilyRuns> family_runs(Interpreter& in, const IrObject& program, const ArgReader& args);

/// The session that runs these arrays: `s` itself, or a member. Replaces the streams of the data by the member's, pads
/// the arrays and adds the number of rows where sizes are rounded up.
SessionObject& session_for(Interpreter& in, SessionObject& s, StreamData& data);
/// The session for some sizes; in a look it cannot run.
SessionObject& member_of_sizes(Interpreter& in, SessionObject& s, const Sizes& sizes);
/// The stream that `to` has in the place that a stream has in `from`.
const Stream* stream_like(const Ir& from, const Ir& to, const Stream* stream);
/// How often each member was made and run, and what that cost: a list of dicts.
Value report_of_sizes(const SessionObject& s);

}  // namespace pxl
