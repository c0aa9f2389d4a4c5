// Tests of JSON objects with hostile forms.
#include "serve/protocol/json_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

namespace halyard::serve {
namespace {

using ::testing::HasSubstr;

// {"x":[part,part,...]}
std::string repeated(const std::string& part, size_t count) {
  std::string text = R"({"x":[)" + part;
  for (size_t i = 1; i < count; ++i) text += "," + part;
  return text + "]}";
}

double processorSeconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(JsonObject, TheTimeGrowsAsTheText) {
  std::string members = R"({"k":0)";
  for (int i = 0; i < 100'000; ++i) members += fmt::format(R"(,"k{}":0)", i);
  members += "}";
  for (const std::string& text : {repeated("{}", 300'000), repeated("[]", 300'000), members}) {
    const double begin = processorSeconds();
    EXPECT_TRUE(parseJsonObject(text).ok());
    // A parser that looks at all siblings takes more than a minute.
    EXPECT_LT(processorSeconds() - begin, 10) << text.substr(0, 20);
  }
}

TEST(JsonObject, NestingIsLimited) {
  const auto nested = [](size_t depth) {
    return R"({"x":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(parseJsonObject(nested(32)).ok());
  EXPECT_THAT(parseJsonObject(nested(33)).status().message(),
              HasSubstr("nested deeper than 32: 33 levels"));
  EXPECT_THAT(parseJsonObject(std::string(8 << 20, '[')).status().message(),
              HasSubstr("nested deeper than 32"));
  // Brackets in strings are text, also behind an escaped quote.
  EXPECT_TRUE(parseJsonObject(R"({"x":"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["})").ok());
}

TEST(JsonObject, OtherTextsAreRefused) {
  EXPECT_THAT(parseJsonObject("[]").status().message(), HasSubstr("expected an object"));
  for (const char* text : {"", "{", "]]]", R"({"x)", R"({"x\)", R"("\")"}) {
    EXPECT_THAT(parseJsonObject(text).status().message(), HasSubstr("the body is no JSON")) << text;
  }
}

// The factors are those of measurements with nlohmann's JSON 3.11.2.
TEST(JsonObject, TheMemoryOfPartsIsKnown) {
  const auto factor = [](const std::string& part) {
    const std::string text = repeated(part, 65537);
    return static_cast<double>(memoryOfJson(text)) / static_cast<double>(text.size());
  };
  EXPECT_GT(factor("[]"), 38);
  EXPECT_GT(factor("{}"), 48);
  EXPECT_GT(factor(R"("")"), 43);
  EXPECT_GT(factor("1"), 40);
  EXPECT_LT(factor("0.12345678"), 9);
  EXPECT_GT(memoryOfJson(R"({"x":")" + std::string(1'000'000, 'a') + R"("})"), 4'900'000u);
}

}  // namespace
}  // namespace halyard::serve
