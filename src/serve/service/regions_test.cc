#include "serve/service/regions.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace halyard::serve {
namespace {

using ::testing::HasSubstr;

class RegionsTest : public ::testing::Test {
 protected:
  RegionsTest() : key_("/halyard_regions_test_" + std::to_string(::getpid())) {
    fd_ = ::shm_open(key_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(fd_, 100), 0);
  }
  ~RegionsTest() override {
    ::close(fd_);
    ::shm_unlink(key_.c_str());
  }
  const std::string key_;
  int fd_ = -1;
};

TEST_F(RegionsTest, ReadsAndWrites) {
  Regions regions(true);
  ASSERT_TRUE(regions.add({"r", key_, 10, 80}).ok());
  EXPECT_TRUE(regions.write({"r", 5, 10}, "abc").ok());
  std::vector<uint8_t> bytes;
  EXPECT_TRUE(regions.read({"r", 5, 3}, bytes).ok());
  EXPECT_THAT(bytes, ::testing::ElementsAre('a', 'b', 'c'));
  char raw[3];
  EXPECT_EQ(::pread(fd_, raw, 3, 15), 3);
  EXPECT_EQ(std::string(raw, 3), "abc");
}

TEST_F(RegionsTest, FaultsAreExplained) {
  Regions regions(true);
  EXPECT_THAT(regions.add({"r", "/none", 0, 10}).text(), HasSubstr("cannot be opened"));
  EXPECT_THAT(regions.add({"r", "/../etc/passwd", 0, 10}).text(), HasSubstr("is no key"));
  EXPECT_THAT(regions.add({"r", key_, 50, 51}).text(), HasSubstr("has 100 bytes, expected"));
  EXPECT_THAT(regions.add({"r", key_, UINT64_MAX, 2}).text(), HasSubstr("needs a name and a size"));
  ASSERT_TRUE(regions.add({"r", key_, 0, 100}).ok());
  EXPECT_THAT(regions.add({"r", key_, 0, 100}).text(), HasSubstr("registered already"));
  std::vector<uint8_t> bytes;
  EXPECT_THAT(regions.read({"r", 99, 2}, bytes).text(), HasSubstr("which has 100"));
  EXPECT_THAT(regions.read({"r", 1, UINT64_MAX}, bytes).text(), HasSubstr("which has 100"));
  EXPECT_THAT(regions.read({"s", 0, 1}, bytes).text(), HasSubstr("there is no region 's'"));
  EXPECT_THAT(regions.write({"r", 0, 2}, "abc").text(), HasSubstr("its part of region 'r' has 2"));
  EXPECT_EQ(::ftruncate(fd_, 10), 0);
  EXPECT_THAT(regions.read({"r", 0, 50}, bytes).text(), HasSubstr("has become shorter"));
  EXPECT_EQ(Regions(false).add({"r", key_, 0, 100}).fault(), Fault::UNSUPPORTED);
}

TEST_F(RegionsTest, AreListedAndRemoved) {
  Regions regions(true);
  ASSERT_TRUE(regions.add({"r", key_, 0, 100}).ok());
  std::vector<RegionInfo> infos;
  EXPECT_TRUE(regions.list("", infos).ok());
  EXPECT_EQ(infos.size(), 1u);
  std::vector<RegionInfo> unknown;
  EXPECT_EQ(regions.list("s", unknown).fault(), Fault::NOT_FOUND);
  EXPECT_TRUE(regions.remove("").ok());
  infos.clear();
  EXPECT_TRUE(regions.list("", infos).ok());
  EXPECT_TRUE(infos.empty());
}

}  // namespace
}  // namespace halyard::serve
