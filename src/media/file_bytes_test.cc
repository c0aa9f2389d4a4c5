// Tests of reading and writing whole files.
#include "media/file_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/temporary_folder_for_test.h"

namespace halyard::media {
namespace {

class FileBytesTest : public ::testing::Test {
 protected:
  const TemporaryFolder owner_{"file_bytes"};
  const std::string folder_ = owner_.path();
};

TEST_F(FileBytesTest, ReadsWhatWasWritten) {
  const std::vector<uint8_t> bytes = {0, 1, 255, 10, 13, 0};
  ASSERT_TRUE(writeFileBytes(folder_ + "/f", bytes).ok());
  const auto back = readFileBytes(folder_ + "/f", 6);
  ASSERT_TRUE(back.ok()) << back.status().toString();
  EXPECT_EQ(*back, bytes);
}

TEST_F(FileBytesTest, WritingReplacesALongerFile) {
  ASSERT_TRUE(writeFileBytes(folder_ + "/f", std::vector<uint8_t>(100)).ok());
  ASSERT_TRUE(writeFileBytes(folder_ + "/f", std::vector<uint8_t>{7}).ok());
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/f"), 1u);
}

TEST_F(FileBytesTest, RefusesMoreThanTheLimit) {
  ASSERT_TRUE(writeFileBytes(folder_ + "/f", std::vector<uint8_t>(7)).ok());
  const auto result = readFileBytes(folder_ + "/f", 6);
  EXPECT_EQ(result.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(result.status().message(), ::testing::HasSubstr("has 7 bytes, more than the 6"));
}

TEST_F(FileBytesTest, NamesAMissingFile) {
  const auto result = readFileBytes(folder_ + "/none", 6);
  EXPECT_EQ(result.status().code(), ResultCode::BAD_DATA);
  EXPECT_THAT(result.status().message(), ::testing::HasSubstr(folder_ + "/none"));
}

TEST_F(FileBytesTest, RefusesFoldersAndFifos) {
  EXPECT_FALSE(readFileBytes(folder_, 6).ok());
  ASSERT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0600), 0);
  EXPECT_THAT(readFileBytes(folder_ + "/fifo", 6).status().message(),
              ::testing::HasSubstr("not a regular file"));
}

TEST_F(FileBytesTest, SaysWhatCannotBeWritten) {
  const Status status = writeFileBytes(folder_ + "/none/f", std::vector<uint8_t>{1});
  EXPECT_EQ(status.code(), ResultCode::OP_FAILED);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("/none/f"));
  // A device that takes no byte simulates a full disk.
  EXPECT_FALSE(writeFileBytes("/dev/full", std::vector<uint8_t>{1}).ok());
}

}  // namespace
}  // namespace halyard::media
