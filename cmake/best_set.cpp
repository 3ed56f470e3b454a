// Prints the best instruction set of this processor (cmake/kernels.cmake).
#include <cstdio>

#include "runtime/kernels/processor_sets.hpp"

int main() { return std::fputs(pxl::processor_sets[pxl::sets_of_processor() - 1].name.data(), stdout) < 0; }
