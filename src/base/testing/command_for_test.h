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

#include "base/temporary_folder_for_test.h"
#include "test_definitions.h"

namespace halyard {

struct CommandOutcome {
  int exitStatus = -1;
  std::string output;
  std::string errors;
};

class CommandTest : public ::testing::Test {
 protected:
  static std::string contentOf(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  // Runs the program; `arguments` are words for the shell, `environment` assignments before it.
  CommandOutcome halyard(const std::string& arguments, const std::string& environment = "") const {
    const std::string out = folder_ + "/.stdout";
    const std::string err = folder_ + "/.stderr";
    // The test has a cache of its own, apart from the user's.
    const std::string line = "XDG_CACHE_HOME='" + std::filesystem::absolute(folder_).string() +
                             "/cache' " + environment + " '" HALYARD_COMMAND "' " + arguments +
                             " >'" + out + "' 2>'" + err + "' </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contentOf(out), contentOf(err)};
  }

  const TemporaryFolder owner_{"command"};
  const std::string folder_ = owner_.path();
};

}  // namespace halyard
