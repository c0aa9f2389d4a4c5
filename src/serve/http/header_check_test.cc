// Tests of headers that servers read in different ways.
#include "serve/http/header_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::serve {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMost = 200;

HeaderCheck checked(std::string_view fields) {
  HeaderCheck check(kMost);
  for (const char byte : "POST / HTTP/1.1\r\n" + std::string(fields) + "\r\n") {
    if (!check.take(byte)) break;
    if (check.hasEnded()) break;
  }
  return check;
}

TEST(HeaderCheck, FindsTheLengthOfTheBody) {
  EXPECT_EQ(checked("").bodyLength(), 0u);
  EXPECT_EQ(checked("Host: h\r\ncontent-LENGTH: \t45 \r\nA: b\r\n").bodyLength(), 45u);
  EXPECT_EQ(checked("Content-Length:18446744073709551615\r\n").bodyLength(), UINT64_MAX);
  const HeaderCheck chunked = checked("Transfer-Encoding: chunked\r\n");
  EXPECT_TRUE(chunked.hasEnded());
  EXPECT_FALSE(chunked.bodyLength().has_value());
}

TEST(HeaderCheck, HasNoLengthBeforeItsEnd) {
  HeaderCheck check(kMost);
  for (const char byte : std::string_view("GET / HTTP/1.1\r\nContent-Length: 3\r\n")) {
    EXPECT_TRUE(check.take(byte));
  }
  EXPECT_FALSE(check.hasEnded());
  EXPECT_FALSE(check.bodyLength().has_value());
}

TEST(HeaderCheck, AnEmptyLineWithoutCrIsNoEnd) {
  HeaderCheck check(kMost);
  for (const char byte : std::string_view("GET / HTTP/1.1\r\n\n")) check.take(byte);
  EXPECT_FALSE(check.hasEnded());
  EXPECT_THAT(check.fault(), HasSubstr("line 2 of the header ends with LF, expected CR LF"));
  EXPECT_FALSE(check.take('\n'));
}

TEST(HeaderCheck, RefusesWhatServersReadInDifferentWays) {
  const std::pair<std::string_view, const char*> cases[] = {
      {"Content-Length: 0\r\nContent-Length: 45\r\n", "there twice, 0 and 45"},
      {"Content-Length: 45\r\nContent-Length: 45\r\n", "there twice, 45 and 45"},
      {"Content-Length : 45\r\n", "line 2 of the header is no 'NAME: VALUE'"},
      {" Content-Length: 45\r\n", "line 2 of the header is no 'NAME: VALUE'"},
      {"A: b\r\n c\r\n", "line 3 of the header is no 'NAME: VALUE'"},
      {"nonsense\r\n", "no 'NAME: VALUE'"},
      {": value\r\n", "no 'NAME: VALUE'"},
      {"Content-Length: 45\n", "ends with LF"},
      {"A: b\rContent-Length: 45\r\n", "has a CR or a zero"},
      {"Content-Length:\r\n", "Content-Length is ''"},
      {"Content-Length: +45\r\n", "Content-Length is '+45'"},
      {"Content-Length: -1\r\n", "Content-Length is '-1'"},
      {"Content-Length: 45, 45\r\n", "Content-Length is '45, 45'"},
      {"Content-Length: 0x2d\r\n", "Content-Length is '0x2d'"},
      {"Content-Length: %34%35\r\n", "Content-Length is '%34%35'"},
      {"Content-Length: 18446744073709551616\r\n", "expected a number below 2^64"},
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "and Transfer-Encoding"},
      {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "and Transfer-Encoding"},
      {"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", "there twice"},
      {"Transfer-Encoding:\r\n", "Transfer-Encoding is empty"},
      {std::string_view("A: \0\r\n", 6), "has a CR or a zero"},
  };
  for (const auto& [fields, expected] : cases) {
    const HeaderCheck check = checked(fields);
    EXPECT_THAT(check.fault(), HasSubstr(expected)) << fields;
    EXPECT_FALSE(check.bodyLength().has_value()) << fields;
  }
}

TEST(HeaderCheck, LimitsItsBytes) {
  EXPECT_THAT(checked("A: " + std::string(kMost, 'a') + "\r\n").fault(),
              HasSubstr("the header has more than 200 bytes"));
  HeaderCheck check(kMost);
  for (size_t i = 0; i < kMost; ++i) EXPECT_TRUE(check.take('a'));
  EXPECT_FALSE(check.take('a')) << "a first line without an end";
}

}  // namespace
}  // namespace halyard::serve
