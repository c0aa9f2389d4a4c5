#include "tools/halyard/bench/beside.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPeers = R"({
  "models": [
    {"name": "a", "threads": {"1": {"litert": {"ms": 9.0}},
                              "2": {"litert": {"ms": 5.5}, "onnxruntime": {"error": "none"},
                                    "halyard": {"ms": 1}}}},
    {"name": "b", "threads": {"2": {"onnxruntime": {"ms": 2}}}},
    {"name": "c", "threads": {}}
  ],
  "accuracy": {"a": {"litert": 0.93, "halyard": 0.93}, "b": {"error": "none"}}
})";

TEST(Beside, TimesOfMostThreadsAreRead) {
  const Result<Beside> beside = Beside::parse(kPeers);
  ASSERT_TRUE(beside.ok()) << beside.status().toString();
  EXPECT_THAT(beside->runtimes(), ElementsAre("LiteRT, 2 threads", "ONNX Runtime, 2 threads"));
  EXPECT_EQ(beside->latency("a", "LiteRT, 2 threads"), 5.5);
  EXPECT_EQ(beside->latency("b", "ONNX Runtime, 2 threads"), 2.0);
  EXPECT_EQ(beside->latency("b", "LiteRT, 2 threads"), std::nullopt);
  EXPECT_EQ(beside->latency("none", "LiteRT, 2 threads"), std::nullopt);
  EXPECT_EQ(beside->top1("a"), 0.93);
  EXPECT_EQ(beside->top1("b"), std::nullopt);
}

TEST(Beside, WhatIsNoResultOfPeersIsRefused) {
  for (const char* text : {"", "[]", "{}", "{\"models\": 1}"}) {
    EXPECT_THAT(std::string(Beside::parse(text).status().message()), HasSubstr("bench/peers"))
        << text;
  }
  // Members of unexpected types are left out of a list.
  const Result<Beside> odd =
      Beside::parse(R"({"models": [1, {"name": 2}, {"name": "a", "threads": {"x": 1, "2": 3}}]})");
  ASSERT_TRUE(odd.ok()) << odd.status().toString();
  EXPECT_TRUE(odd->runtimes().empty());
  EXPECT_THAT(std::string(Beside::load("/nowhere").status().message()), HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace halyard::cli
