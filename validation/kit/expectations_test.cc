// Tests right and wrong entries, and their effect on results.
#include "validation/kit/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace halyard::validation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Expectations parsed(const std::string& text) {
  auto expectations = Expectations::parse(text);
  EXPECT_TRUE(expectations.ok()) << expectations.status().toString();
  return expectations.ok() ? *expectations : Expectations();
}

const char* const kTwo = R"({
  // The chip.
  "unsupported": [{"checks": "hal/cache/*", "reason": "no storage"}],
  "expected_failure": [{"checks": "conformance/t?nh/plain", "reason": "issue 12"}]
})";

TEST(Expectations, FailuresAreForgivenWithTheirReason) {
  const Expectations expectations = parsed(kTwo);
  CheckResult result = expectations.apply("conformance/tanh/plain", Outcome::FAILED, "is 5");
  EXPECT_EQ(result.outcome, Outcome::EXPECTED_FAILURE);
  EXPECT_EQ(result.reason, "issue 12 (failed: is 5)");
  result = expectations.apply("hal/cache/a/b", Outcome::CRASH, "gone");
  EXPECT_EQ(result.outcome, Outcome::SKIPPED);
  EXPECT_EQ(result.reason, "unsupported: no storage");
}

TEST(Expectations, WhatIsNotMeantStaysAsItIs) {
  const Expectations expectations = parsed(kTwo);
  const CheckResult result = expectations.apply("conformance/tanh/pools", Outcome::HANG, "late");
  EXPECT_EQ(result.outcome, Outcome::HANG);
  EXPECT_EQ(result.reason, "late");
  EXPECT_EQ(expectations.apply("conformance/add/plain", Outcome::PASSED, "").outcome,
            Outcome::PASSED);
}

TEST(Expectations, AnUnexpectedPassIsBad) {
  const Expectations expectations = parsed(kTwo);
  for (const char* id : {"conformance/tanh/plain", "hal/cache/a"}) {
    const CheckResult result = expectations.apply(id, Outcome::PASSED, "");
    EXPECT_EQ(result.outcome, Outcome::UNEXPECTED_PASS);
    EXPECT_TRUE(isBad(result.outcome));
  }
  EXPECT_EQ(expectations.apply("hal/cache/a", Outcome::SKIPPED, "none").outcome, Outcome::SKIPPED);
}

TEST(Expectations, EntriesThatMeanNothingAreFound) {
  const Expectations expectations = parsed(kTwo);
  const std::vector<std::string> areas = {"conformance", "hal"};
  const std::vector<std::string> both = {"hal/cache/a", "conformance/tanh/plain"};
  EXPECT_THAT(expectations.unused(both, areas), IsEmpty());
  const std::vector<std::string> one = {"hal/cache/a", "conformance/tan/plain"};
  EXPECT_THAT(expectations.unused(one, areas),
              ElementsAre(HasSubstr("'conformance/t?nh/plain' (issue 12)")));
  // The checks of areas that do not run are unknown.
  const std::vector<std::string> hal = {"hal"};
  EXPECT_THAT(expectations.unused(std::vector<std::string>{"hal/cache/a"}, hal), IsEmpty());
}

TEST(Expectations, WrongFilesSayWhere) {
  const auto message = [](const char* text) {
    return Expectations::parse(text).status().toString();
  };
  EXPECT_THAT(message("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(message("{"), HasSubstr("no JSON object"));
  EXPECT_THAT(message(R"({"flaky": []})"), HasSubstr("unknown field 'flaky'"));
  EXPECT_THAT(message(R"({"unsupported": {}})"), HasSubstr("unsupported: is no list"));
  EXPECT_THAT(message(R"({"unsupported": [{"checks": "a"}]})"),
              HasSubstr("unsupported[0]: reason: expected a text"));
  EXPECT_THAT(message(R"({"unsupported": [{"checks": "a", "reason": ""}]})"),
              HasSubstr("reason: expected a text that is not empty"));
  EXPECT_THAT(message(R"({"expected_failure": [{"check": "a", "reason": "b"}]})"),
              HasSubstr("unknown field 'check'"));
  EXPECT_EQ(Expectations::load("/nowhere/x.json").status().code(), ResultCode::BAD_DATA);
}

TEST(Expectations, LieBesideTheManifest) {
  EXPECT_EQ(expectationsBeside("/a/b/npu.json"), "/a/b/npu.expectations.json");
}

TEST(MatchesGlob, StarsCrossSlashes) {
  EXPECT_TRUE(matchesGlob("hal/*", "hal/a/b"));
  EXPECT_TRUE(matchesGlob("*/plain", "conformance/V1_0/add/plain"));
  EXPECT_FALSE(matchesGlob("hal", "hal/a"));
}

}  // namespace
}  // namespace halyard::validation
