#include "client/cache_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/temporary_folder_for_test.h"

namespace halyard::client {
namespace {

using ::testing::HasSubstr;

TEST(CacheFolder, BelongsToTheUserAlone) {
  const TemporaryFolder owner("cache_folder");
  const std::string& root = owner.path();
  const std::string folder = root + "/a/b/c";
  ASSERT_TRUE(makeCacheFolder(folder).ok());
  ASSERT_TRUE(makeCacheFolder(folder + "/").ok());
  for (const std::string& each : {root + "/a", folder}) {
    struct stat st {};
    ASSERT_EQ(::stat(each.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0700u) << each;
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_THAT(makeCacheFolder(folder).message(), HasSubstr("others may write to " + folder));
  std::ofstream(root + "/file") << "x";
  EXPECT_THAT(makeCacheFolder(root + "/file").message(), HasSubstr("is not a folder"));
  EXPECT_THAT(makeCacheFolder(root + "/file/x").message(), HasSubstr("Not a directory"));
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(folder.c_str(), 1, 1), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  EXPECT_THAT(makeCacheFolder(folder).message(), HasSubstr("belongs to user 1"));
}

}  // namespace
}  // namespace halyard::client
