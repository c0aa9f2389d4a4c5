// Tests of the report's limits. The tests of the delegate look at its contents.
#include "tflite_delegate/report.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder_for_test.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::tflite {
namespace {

TEST(Report, ListsHaveALimit) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/report.json";
  Report report(path, /*verbose=*/false);
  constexpr size_t kMore = 3;
  for (size_t i = 0; i < Report::kMostEntries; ++i) {
    EXPECT_EQ(report.addGraph({}), i);
  }
  for (size_t i = 0; i < kMore; ++i) report.addGraph({});
  report.addError(Status(ResultCode::OP_FAILED, "a text"));
  std::ifstream file(path);
  const nlohmann::json document = nlohmann::json::parse(file);
  EXPECT_EQ(document.at("graphs").size(), Report::kMostEntries);
  EXPECT_EQ(document.at("errors").size(), 1u);
  EXPECT_EQ(document.at("left_out"), kMore);
}

// A pipe stands for a device such as /dev/stderr.
TEST(Report, APipeIsWrittenAndStays) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const UniqueFd pipe(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  ASSERT_GE(pipe.get(), 0);
  Report(path, /*verbose=*/false).addError(Status(ResultCode::OP_FAILED, "a text"));
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  std::string text(4096, '\0');
  const ssize_t size = ::read(pipe.get(), text.data(), text.size());
  ASSERT_GT(size, 0);
  text.resize(static_cast<size_t>(size));
  EXPECT_EQ(nlohmann::json::parse(text).at("errors").size(), 1u);
}

TEST(Report, ALinkStays) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/report.json";
  std::filesystem::create_symlink("target.json", path);
  Report(path, /*verbose=*/false).addError(Status(ResultCode::OP_FAILED, "a text"));
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder.path() + "/target.json"));
}

}  // namespace
}  // namespace halyard::tflite
