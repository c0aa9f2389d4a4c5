// Tests the parts of the HAL suite without a driver: its models are valid, its mutations are
// invalid, and its memory detects writes beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "model/validation/validation.h"
#include "validation/vts/model_rows.h"
#include "validation/vts/models.h"
#include "validation/vts/mutations.h"
#include "validation/vts/request_rows.h"
#include "validation/vts/rules.h"

namespace halyard::validation {
namespace {

using ::testing::HasSubstr;

TEST(Models, AreRightForTheVersionThatTheyAreUsedWith) {
  for (const Kind& kind : {kFloat, kQuant8}) {
    EXPECT_TRUE(validatedForLevel(addModel(4, kind), FeatureLevel::FL1).ok());
    EXPECT_TRUE(validatedForLevel(addModel(0, kind), FeatureLevel::FL1).ok());
    for (const bool multiplies : {false, true}) {
      const Status status =
          validatedForLevel(chainModel(multiplies, 100, kind), FeatureLevel::FL3).status();
      EXPECT_TRUE(status.ok()) << status.toString();
    }
  }
  EXPECT_TRUE(validatedForLevel(endlessModel(), FeatureLevel::FL4).ok());
}

TEST(Mutations, AreManyAndAllWrong) {
  std::set<std::string> names;
  size_t ofTheMessage = 0;
  const Status status =
      forEachMutation(addModel(4), FeatureLevel::FL4, [&](const Mutation& mutation) {
        EXPECT_TRUE(names.insert(mutation.what).second) << mutation.what;
        if (mutation.edit) ++ofTheMessage;
        EXPECT_TRUE(mutation.edit || !validatedForLevel(mutation.model, FeatureLevel::FL4).ok())
            << mutation.what;
        return okStatus();
      });
  EXPECT_TRUE(status.ok());
  EXPECT_GT(names.size(), 100u);
  // For each operand one consumer more and, if it has consumers, one less.
  EXPECT_EQ(ofTheMessage, 7u);
}

TEST(Mutations, EndWithTheFirstError) {
  int count = 0;
  const Status status = forEachMutation(addModel(4), FeatureLevel::FL4, [&](const Mutation&) {
    return ++count == 3 ? opFailed("found") : okStatus();
  });
  EXPECT_EQ(count, 3);
  EXPECT_EQ(status.message(), "found");
}

TEST(ModelRows, AreRightFromTheirVersionOn) {
  std::set<std::string> names;
  size_t right = 0;
  for (const ModelRow& row : modelRows()) {
    EXPECT_TRUE(names.insert(fmt::format("{}_{}", row.rule, row.name)).second) << row.name;
    if (row.edit != nullptr) continue;  // only a message can contain the error
    for (const HalVersion version :
         {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2, HalVersion::V1_3}) {
      const bool valid = validatedForLevel(row.model(), featureLevelOf(version)).ok();
      EXPECT_EQ(valid, row.isRight(version)) << row.name << " " << halVersionName(version);
    }
    if (row.right) ++right;
  }
  EXPECT_GT(names.size(), 150u);
  EXPECT_GT(right, 35u);
  EXPECT_FALSE(validatedForLevel(cyclicModel(), FeatureLevel::FL4).ok());
}

TEST(BadRequests, AreBad) {
  size_t checked = 0;
  const auto memory = RequestMemory::make({filled(kFloat, 4, 1), filled(kFloat, 4, 2)}, {16});
  ASSERT_TRUE(memory.ok());
  EXPECT_TRUE(hal::validateRequest(addModel(4), memory->request(), true).ok());
  for (const BadRequest& row : badRequests()) {
    if (row.change == nullptr || row.isOperations)
      continue;  // a Request object cannot contain the error
    const hal::Request bad = row.spoilt(memory->request());
    bool isToken = false;
    for (const hal::RequestPool& pool : bad.pools) {
      isToken = isToken || std::holds_alternative<uint32_t>(pool);
    }
    if (isToken) continue;  // only the owner of the buffers can check tokens
    EXPECT_FALSE(hal::validateRequest(addModel(4), bad, true).ok()) << row.name;
    ++checked;
  }
  EXPECT_GT(checked, 20u);
}

TEST(RequestMemory, SeesWhatIsWrittenBesideOutputs) {
  auto memory = RequestMemory::make({filled(kFloat, 4, 1)}, {16, 5});
  ASSERT_TRUE(memory.ok());
  EXPECT_TRUE(memory->checkUntouched().ok());
  const auto& out = std::get<SharedMemoryPtr>(memory->request().pools[1]);
  uint8_t* const bytes = (*out->mapped())->data();
  const auto& second = memory->request().outputs[1].location;
  bytes[second.offset + 4] = 7;
  EXPECT_TRUE(memory->checkUntouched().ok());
  EXPECT_EQ(memory->output(1, 5)[4], 7);
  bytes[second.offset + 5] = 7;
  EXPECT_THAT(memory->checkUntouched().message(), HasSubstr("beside its outputs"));
  memory->clearOutputs();
  EXPECT_TRUE(memory->checkUntouched().ok());
  const auto& in = std::get<SharedMemoryPtr>(memory->request().pools[0]);
  (*in->mapped())->data()[0] ^= 1;
  EXPECT_THAT(memory->checkUntouched().message(), HasSubstr("changed an input"));
}

Preparation prepared(Code launch, std::optional<Code> callback, bool hasModel) {
  Preparation one;
  one.launch = launch;
  one.callback = callback;
  one.hasModel = hasModel;
  one.message = launch == Code::NONE && callback == Code::NONE ? "" : "why";
  one.notifications = std::make_shared<std::atomic<unsigned>>(callback ? 1 : 0);
  return one;
}

TEST(Rules, OfPreparations) {
  EXPECT_TRUE(expectPrepared(prepared(Code::NONE, Code::NONE, true)).ok());
  EXPECT_FALSE(expectPrepared(prepared(Code::NONE, Code::NONE, false)).ok());
  EXPECT_FALSE(expectPrepared(prepared(Code::NONE, std::nullopt, false)).ok());
  EXPECT_FALSE(expectPrepared(prepared(Code::NONE, Code::GENERAL_FAILURE, false)).ok());
  const auto kInvalid = {Code::INVALID_ARGUMENT};
  const Code invalid = Code::INVALID_ARGUMENT;
  EXPECT_TRUE(expectRefusedAtLaunch(prepared(invalid, invalid, false), kInvalid).ok());
  EXPECT_FALSE(expectRefusedAtLaunch(prepared(Code::NONE, invalid, false), kInvalid).ok());
  EXPECT_FALSE(expectRefusedAtLaunch(prepared(invalid, invalid, true), kInvalid).ok());
  EXPECT_FALSE(
      expectRefusedAtLaunch(prepared(invalid, Code::GENERAL_FAILURE, false), kInvalid).ok());
  EXPECT_TRUE(expectFailed(prepared(Code::NONE, invalid, false), kInvalid).ok());
  Preparation twice = prepared(Code::NONE, Code::NONE, true);
  *twice.notifications = 2;
  EXPECT_THAT(expectPrepared(twice).message(), HasSubstr("called 2 times"));
  Preparation silent = prepared(invalid, invalid, false);
  silent.message = "";
  EXPECT_THAT(expectRefusedAtLaunch(silent, kInvalid).message(), HasSubstr("without a text"));
}

TEST(Rules, OfExecutions) {
  ExecutionAnswer answer;
  answer.callback = Code::NONE;
  EXPECT_TRUE(expectSuccess(answer, {{4}}, false, false).ok());
  EXPECT_FALSE(expectSuccess(answer, {{4}}, false, /*mustHaveShapes=*/true).ok());
  answer.shapes = {{{4}, true}};
  EXPECT_TRUE(expectSuccess(answer, {{4}}, false, true).ok());
  EXPECT_FALSE(expectSuccess(answer, {{5}}, false, true).ok());
  answer.timing = {2, 1};
  EXPECT_THAT(expectSuccess(answer, {{4}}, true, true).message(), HasSubstr("more than"));
  answer.timing = {1, 2};
  EXPECT_TRUE(expectSuccess(answer, {{4}}, true, true).ok());
  EXPECT_THAT(expectSuccess(answer, {{4}}, false, true).message(), HasSubstr("asked for"));
  ExecutionAnswer error;
  error.launch = Code::INVALID_ARGUMENT;
  error.callback = Code::INVALID_ARGUMENT;
  error.message = "why";
  EXPECT_TRUE(expectError(error, {Code::INVALID_ARGUMENT}).ok());
  error.shapes = {{{4}, true}};
  EXPECT_FALSE(expectError(error, {Code::INVALID_ARGUMENT}).ok());
}

}  // namespace
}  // namespace halyard::validation
