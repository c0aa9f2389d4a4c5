// The digests are those of the standard's examples (FIPS 180-2, appendix B).
#include "base/sha256.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/temporary_folder_for_test.h"

namespace halyard {
namespace {

std::string hex(const Result<Digest>& digest) {
  if (!digest.ok()) return digest.status().toString();
  std::string text;
  for (const uint8_t byte : *digest) text += fmt::format("{:02x}", byte);
  return text;
}

constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, KnownDigests) {
  Sha256 empty;
  empty.add(nullptr, 0);
  EXPECT_EQ(hex(empty.finish()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 abc;
  abc.add("abc");
  EXPECT_EQ(hex(abc.finish()), kOfAbc);
  Sha256 pieces;
  for (int i = 0; i < 1000; ++i) pieces.add(std::string(1000, 'a'));
  EXPECT_EQ(hex(pieces.finish()),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAFile) {
  const TemporaryFolder folder("sha256");
  const std::string path = folder.path() + "/file";
  std::ofstream(path) << "abc";
  EXPECT_EQ(hex(sha256OfFile(path)), kOfAbc);
  std::remove(path.c_str());
  EXPECT_THAT(sha256OfFile(path).status().message(), ::testing::HasSubstr(path));
  EXPECT_THAT(sha256OfFile("/").status().message(), ::testing::HasSubstr("not a regular file"));
}

TEST(Sha256Test, BeginsAnewAfterADigest) {
  Sha256 hash;
  const Digest empty = hash.finish();
  EXPECT_EQ(hash.add("abc").finish(), Sha256().add("abc").finish());
  EXPECT_EQ(hash.finish(), empty);
}

}  // namespace
}  // namespace halyard
