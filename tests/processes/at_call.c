/* What happens to one process of a job in a call of MPI: AT_CALL has the process, the call and the event,
   "1 MPI_Finalize stop". MPI's own function has the same name with a P, as its standard says. Loaded by LD_PRELOAD. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void event(const char *call) {
  const char *at = getenv("AT_CALL"), *rank = getenv("OMPI_COMM_WORLD_RANK");
  char who[16], where[64], what[16];
  if (!at || !rank || sscanf(at, "%15s %63s %15s", who, where, what) != 3) return;
  if (strcmp(who, rank) != 0 || strcmp(where, call) != 0) return;
  if (strcmp(what, "stop") == 0) raise(SIGSTOP);
  const struct timespec late = {0, 600000000};
  nanosleep(&late, NULL);
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided) {
  event("MPI_Init_thread");
  return PMPI_Init_thread(argc, argv, wanted, provided);
}
int MPI_Comm_dup(MPI_Comm from, MPI_Comm *to) {
  event("MPI_Comm_dup");
  return PMPI_Comm_dup(from, to);
}
int MPI_Comm_size(MPI_Comm of, int *size) {
  event("MPI_Comm_size");
  return PMPI_Comm_size(of, size);
}
int MPI_Finalize(void) {
  event("MPI_Finalize");
  return PMPI_Finalize();
}
