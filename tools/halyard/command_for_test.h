// Running the program in tests.
// Thread safety: none. Ownership: the fixture's folder is removed with it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "test_definitions.h"

namespace halyard::cli {

struct Outcome {
  int exitStatus = -1;
  std::string output;
  std::string errors;
};

class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "halyard_command_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string contentOf(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  // Runs the program; `arguments` are words for the shell, `environment` assignments before it.
  Outcome halyard(const std::string& arguments, const std::string& environment = "") const {
    const std::string out = folder_ + "/.stdout";
    const std::string err = folder_ + "/.stderr";
    // What is cached belongs to the test, not to whoever runs it.
    const std::string line = "XDG_CACHE_HOME='" + std::filesystem::absolute(folder_).string() +
                             "/cache' " + environment + " '" HALYARD_COMMAND "' " + arguments +
                             " >'" + out + "' 2>'" + err + "' </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contentOf(out), contentOf(err)};
  }

  std::string folder_;
};

}  // namespace halyard::cli
