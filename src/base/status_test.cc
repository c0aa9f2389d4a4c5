// Tests of Status and Result: texts, annotations, copies, macros.
#include "halyard/driver/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace halyard {
namespace {

TEST(Status, OkIsSmallAndSilent) {
  const Status ok = okStatus();
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), ResultCode::NO_ERROR);
  EXPECT_EQ(ok.message(), "");
  EXPECT_EQ(ok.toString(), "OK");
  EXPECT_EQ(sizeof(Status), sizeof(void*));
  Status annotated;
  EXPECT_TRUE(annotated.annotate("anything").ok());
  EXPECT_TRUE(ok.withCode(ResultCode::OP_FAILED).ok());
}

TEST(Status, TellsItsStoryFromTheOutside) {
  Status status = badData("filter has depth_in {}, input has {}", 3, 4);
  status.annotate("operation #12 CONV_2D").annotate("model");
  EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
  EXPECT_EQ(status.message(), "model: operation #12 CONV_2D: filter has depth_in 3, input has 4");
  EXPECT_EQ(status.toString(), "BAD_DATA: " + status.message());
}

TEST(Status, EveryCodeHasItsOwnName) {
  std::set<std::string> names;
  for (int code = 0; code <= 14; ++code)
    names.insert(resultCodeName(static_cast<ResultCode>(code)));
  EXPECT_EQ(names.size(), 15u);
  for (const std::string& name : names) EXPECT_EQ(name.find("result code"), std::string::npos);
  EXPECT_EQ(resultCodeName(ResultCode::DEAD_OBJECT), "DEAD_OBJECT");
  EXPECT_EQ(resultCodeName(static_cast<ResultCode>(15)), "result code 15");
}

TEST(Status, FactoriesGiveTheirCode) {
  EXPECT_EQ(badState("x").code(), ResultCode::BAD_STATE);
  EXPECT_EQ(opFailed("x").code(), ResultCode::OP_FAILED);
  EXPECT_EQ(unexpectedNull("x").code(), ResultCode::UNEXPECTED_NULL);
  EXPECT_EQ(makeStatus(ResultCode::DEAD_OBJECT, "x {}", 1).toString(), "DEAD_OBJECT: x 1");
}

TEST(Status, CopiesAreIndependent) {
  Status first = badData("first");
  Status copy = first;
  copy.annotate("context");
  EXPECT_EQ(first.message(), "first");
  EXPECT_EQ(copy.message(), "context: first");
  first = copy;
  EXPECT_EQ(first.message(), "context: first");
  const Status* self = &first;
  first = *self;
  EXPECT_EQ(first.message(), "context: first");
  first = okStatus();
  EXPECT_TRUE(first.ok());
  EXPECT_FALSE(copy.ok());
}

TEST(Status, WithCodeKeepsTheText) {
  const Status status = badData("text").withCode(ResultCode::OP_FAILED);
  EXPECT_EQ(status.toString(), "OP_FAILED: text");
}

TEST(Status, ErrnoTextHasItsNumberAndMeaning) {
  EXPECT_EQ(errnoStatus(ResultCode::UNMAPPABLE, ENOENT, "open").toString(),
            "UNMAPPABLE: open: No such file or directory (errno 2)");
}

Result<int> half(int value) {
  if (value % 2 != 0) return badData("{} is odd", value);
  return value / 2;
}

TEST(Result, HoldsAValueOrAReason) {
  const Result<int> good = half(4);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 2);
  EXPECT_TRUE(good.status().ok());
  Result<int> bad = half(3);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message(), "3 is odd");
  EXPECT_EQ(bad.takeStatus().code(), ResultCode::BAD_DATA);
  Result<std::unique_ptr<int>> moved(std::make_unique<int>(7));
  const std::unique_ptr<int> out = std::move(moved).value();
  EXPECT_EQ(*out, 7);
}

int contextEvaluated = 0;
int context() {
  ++contextEvaluated;
  return 5;
}

Result<int> quarter(int value) {
  HALYARD_ASSIGN_OR_RETURN(const int first, half(value), "first half of {}", value);
  HALYARD_ASSIGN_OR_RETURN(const int second, half(first));
  return second;
}

Status check(int value) {
  HALYARD_RETURN_IF_ERROR(quarter(value).status(), "level {}", context());
  return okStatus();
}

TEST(StatusMacros, ReturnEarlyWithContext) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(7).status().message(), "first half of 7: 7 is odd");
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
  contextEvaluated = 0;
  EXPECT_TRUE(check(8).ok());
  EXPECT_EQ(contextEvaluated, 0);
  EXPECT_EQ(check(6).message(), "level 5: 3 is odd");
  EXPECT_EQ(contextEvaluated, 1);
}

}  // namespace
}  // namespace halyard
