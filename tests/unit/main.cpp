#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("PXL_VERIFY", "1", 0);  // graphs after each transform, plans after each pass
  return doctest::Context(argc, argv).run();
}
