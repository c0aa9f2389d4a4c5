// A folder for the files of one test. No other test has it: tests of the same name may run at once,
// in different suites, builds and processes.
// Thread safety: none is needed, objects are constant.
// Ownership: the object removes the folder at its end.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace halyard {

class TemporaryFolder {
 public:
  // `name` is part of the folder's name and helps a reader to recognise it.
  explicit TemporaryFolder(const std::string& name = "test")
      : path_(::testing::TempDir() + "halyard_" + name + "_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error("no folder " + path_ + " can be made");
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // The path has no slash at its end.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace halyard
