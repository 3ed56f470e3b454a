// Trains the network of model.pxl to add two numbers: train MODEL CHECKPOINT
#include <iostream>
#include <pxl/pxl.hpp>
#include <random>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    pxl::Program model = pxl::Program::load(argv[1], {.options = {{"lr", "0.03"}}}).value();
    pxl::Session session = model.session("fit").value();
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> x(64 * 2), target(64), loss(1);
    for (int step = 0; step <= 300; ++step) {
      for (size_t i = 0; i < target.size(); ++i) {
        x[2 * i] = uniform(random);
        x[2 * i + 1] = uniform(random);
        target[i] = x[2 * i] + x[2 * i + 1];
      }
      session.run({{"x", {x, {64, 2}}}, {"target", {target, {64, 1}}}}, {{"loss", {loss, {}}}}).value();
      if (step % 100 == 0) std::cout << "step " << step << ": loss " << loss[0] << "\n";
    }
    session.save(argv[2]).value();
    return loss[0] < 0.01f ? 0 : 1;
  } catch (const pxl::BadResult& failed) {
    std::cerr << failed.what();
    return 1;
  }
}
