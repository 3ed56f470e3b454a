// The command line of programs' fuzzers, and where they run.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace fuzz {

struct CommandLine {
  double seconds = 5;            ///< how long texts are made
  uint64_t seed = 1, first = 0;  ///< text number `first` of the seed comes first
  bool replay = false;           ///< the operands are texts
  bool keep_going = false;       ///< after a finding
  bool list = false;
  std::string findings = std::filesystem::absolute(".").string();  ///< a folder
  std::vector<std::string> operands;                               ///< paths; absolute ones
};

inline CommandLine read_command_line(int argc, char** argv) {
  CommandLine c;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (word == "--seconds")
      c.seconds = std::atof(value());
    else if (word == "--seed")
      c.seed = std::strtoull(value(), nullptr, 10);
    else if (word == "--first")
      c.first = std::strtoull(value(), nullptr, 10);
    else if (word == "--findings")
      c.findings = std::filesystem::absolute(value()).string();
    else if (word == "--replay")
      c.replay = true;
    else if (word == "--list")
      c.list = true;
    else if (word == "--keep-going")
      c.keep_going = true;
    else
      c.operands.push_back(std::filesystem::absolute(word).string());
  }
  return c;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// An empty working folder, for what programs write; it is removed with this.
class Sandbox {
 public:
  /// Ends the process with status 2 if there cannot be one.
  explicit Sandbox(const std::string& name) : folder_("/tmp/pxl-" + name + "-XXXXXX") {
    if (mkdtemp(folder_.data()) && chdir(folder_.c_str()) == 0) return;
    std::perror(name.c_str());
    std::exit(2);
  }
  ~Sandbox() {
    std::error_code ignored;
    if (chdir("/") == 0) std::filesystem::remove_all(folder_, ignored);
  }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

 private:
  std::string folder_;
};

}  // namespace fuzz
