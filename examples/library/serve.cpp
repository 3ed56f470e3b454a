// Serves the trained network of model.pxl with two threads, each with a session of its own: serve MODEL CHECKPOINT
// REQUESTS
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <pxl/pxl.hpp>
#include <thread>

namespace {

/// Answers requests until none is left, and returns the number of wrong answers.
int serve(pxl::Session& session, std::atomic<int>& next, int requests) {
  int wrong = 0;
  std::vector<float> x(2), y(1);
  for (int i = next++; i < requests; i = next++) {
    x = {static_cast<float>(i % 10) / 10, static_cast<float>(i % 7) / -7};
    const pxl::Result<void> ran = session.run({{"x", {x, {1, 2}}}}, {{"y", {y, {1, 1}}}});
    if (!ran) std::cerr << ran.error().text();
    wrong += !ran || std::fabs(y[0] - (x[0] + x[1])) > 0.3f;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int requests = std::atoi(argv[3]);
  try {
    pxl::Program model = pxl::Program::load(argv[1]).value();
    pxl::Session sessions[2] = {model.session("predict").value(), model.session("predict(n = 1)").value()};
    for (pxl::Session& session : sessions) session.restore(argv[2]).value();
    std::atomic<int> next{0}, wrong{0};
    std::thread second([&] { wrong += serve(sessions[1], next, requests); });
    wrong += serve(sessions[0], next, requests);
    second.join();
    std::cout << requests << " requests, " << wrong << " wrong answers\n";
    return wrong == 0 ? 0 : 1;
  } catch (const pxl::BadResult& failed) {
    std::cerr << failed.what();
    return 1;
  }
}
