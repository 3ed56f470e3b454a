// Compares the all-reduce in the order of replicas with MPI's, one replica a process: microseconds a call by size.
// Started by mpirun; process 0 prints `BYTES ORDERED MPI` lines, in microseconds: the least over rounds, in which both
// take turns.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "runtime/base/files/standard_streams.hpp"
#include "runtime/execute/process_collectives.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/processes/launch.hpp"

extern "C" pxl::Transport* pxl_open_transport(std::string* why);

namespace {

using namespace pxl;
using Clock = std::chrono::steady_clock;

/// Microseconds of a call, from when all processes are ready.
template <class F>
double microseconds(int calls, const F& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / calls;
}

void measure(Processes& job, int64_t bytes, int rounds) {
  const int64_t n = bytes / 4;
  Ir ir;
  ir.replication_factor = job.size();
  GraphOpBuilder at(ir.main());
  const Expr v = at.of(ir.main().add_variable(Array::zeros(DType::float32, {n}), "v"));
  const Op* op = at.one("replicated_all_reduce_", {v}).tensor()->producer;
  const OpContextStorage storage(*op);
  const Kernel kernel = kernel_of(storage.site);
  Array mine = Array::full(DType::float32, {n}, 1.0), theirs = Array::full(DType::float32, {n}, 1.0);
  const CollectiveStop stop{op, &kernel, mine.raw(), mine.mutable_raw()};
  const std::span<const CollectiveStop> stops[] = {{&stop, 1}};
  ProcessCollectives collectives(job, job.replicas(job.size()));
  const auto ordered = [&] { collectives.run(stops); };
  const auto library = [&] {
    MPI_Allreduce(MPI_IN_PLACE, theirs.mutable_raw(), static_cast<int>(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  const int calls = static_cast<int>(std::clamp<int64_t>((4 << 20) / bytes, 1, 200));
  std::vector<double> a, b;
  for (int round = -2; round < rounds; ++round) {
    const double one = microseconds(calls, ordered), two = microseconds(calls, library);
    if (round < 0) continue;
    a.push_back(one);
    b.push_back(two);
  }
  if (job.rank() == 0)
    print_out("{} {:.2f} {:.2f}\n", bytes, *std::min_element(a.begin(), a.end()),
              *std::min_element(b.begin(), b.end()));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const int64_t most = argc > 2 ? std::atoll(argv[2]) : 64 << 20;
  std::string why;
  Processes job(std::unique_ptr<Transport>(pxl_open_transport(&why)), 60);
  divide_cores(job);
  for (int64_t bytes = 1 << 10; bytes <= most; bytes *= 4) measure(job, bytes, rounds);
  flush_out();
  job.finish();
  return 0;
}
