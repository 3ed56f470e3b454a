#include "interpreter/jupyter/process.hpp"

int main(int argc, char** argv) { return pxl::jupyter::run_process(argc, argv); }
