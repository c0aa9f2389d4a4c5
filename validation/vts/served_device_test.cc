// Tests the HAL's rules as the runtime uses them, in every HAL version. The device is in a session
// of this process, or behind the client of a driver in its own process.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/validation/control_flow_sizes.h"
#include "validation/vts/model_rows.h"
#include "validation/vts/models.h"
#include "validation/vts/request_rows.h"
#include "validation/vts/suite_target_for_test.h"

namespace halyard::validation {
namespace {

class ServedDevice : public ::testing::TestWithParam<Served> {
 protected:
  void SetUp() override {
    auto opened = target_.device();
    ASSERT_TRUE(opened.ok()) << opened.status().toString();
    device_ = *opened;
  }

  HalVersion version() const { return GetParam().version; }
  // The client of a driver's process removes values that only an old version forbids: see
  // version_adaptation_test.
  bool adapts() const { return GetParam().place == Place::DRIVER_PROCESS; }

  Result<std::shared_ptr<hal::PreparedModel>> prepare(const Model& model,
                                                      const hal::PrepareOptions& options = {}) {
    HALYARD_ASSIGN_OR_RETURN(const ValidModel valid, validated(model));
    return device_->prepareModel(valid, options);
  }
  // BAD_DATA for an invalid model. No device gets it.
  Result<hal::SupportedOperations> supportedOperations(const Model& model) {
    HALYARD_ASSIGN_OR_RETURN(const ValidModel valid, validated(model));
    return device_->getSupportedOperations(valid);
  }
  void expectRefused(const Model& model) {
    const auto supported = supportedOperations(model);
    // For a driver in its own process, the client itself answers that control flow of unknown sizes
    // is not supported.
    if (adapts() && supported.ok() && !checkBoundarySizes(model).ok()) {
      EXPECT_FALSE(hal::supportsAll(*supported));
      EXPECT_FALSE(prepare(model).ok());
      return;
    }
    EXPECT_EQ(supported.status().code(), ResultCode::BAD_DATA) << supported.status().toString();
    EXPECT_NE(supported.status().message(), "");
    const auto prepared = prepare(model);
    EXPECT_EQ(prepared.status().code(), ResultCode::BAD_DATA) << prepared.status().toString();
    EXPECT_NE(prepared.status().message(), "");
  }
  void expectAccepted(const Model& model) {
    const auto supported = supportedOperations(model);
    ASSERT_TRUE(supported.ok()) << supported.status().toString();
    EXPECT_EQ(supported->size(), model.main.operations.size());
    const auto prepared = prepare(model);
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  }

  const SuiteTarget made_{GetParam()};
  Target target_{made_.spec()};
  std::shared_ptr<hal::Device> device_;
};

TEST_P(ServedDevice, Models) {
  for (const ModelRow& row : modelRows()) {
    SCOPED_TRACE(fmt::format("{} {}", row.rule, row.name));
    if (row.edit != nullptr) continue;  // only in a message
    if (row.isRight(version())) {
      expectAccepted(row.model());
    } else if (!row.right || !adapts()) {
      expectRefused(row.model());
    }
  }
  expectRefused(cyclicModel());
}

TEST_P(ServedDevice, Options) {
  for (const int wrong : {-1, 3}) {
    hal::PrepareOptions options;
    options.preference = static_cast<hal::ExecutionPreference>(wrong);
    if (version() >= HalVersion::V1_1) {
      EXPECT_EQ(prepare(addModel(4), options).status().code(), ResultCode::BAD_DATA);
    }
    options = {};
    options.priority = static_cast<hal::Priority>(wrong);
    if (version() >= HalVersion::V1_3) {
      EXPECT_EQ(prepare(addModel(4), options).status().code(), ResultCode::BAD_DATA);
    }
  }
  hal::PrepareOptions late;
  late.deadline = hal::Clock::now() - std::chrono::seconds(1);
  if (version() >= HalVersion::V1_3) {
    EXPECT_EQ(prepare(addModel(4), late).status().code(), ResultCode::MISSED_DEADLINE_PERSISTENT);
  }
}

TEST_P(ServedDevice, Requests) {
  const auto prepared = prepare(addModel(4));
  ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
  const auto memory = RequestMemory::make({filled(kFloat, 4, 1), filled(kFloat, 4, 2)}, {16});
  ASSERT_TRUE(memory.ok());
  hal::ExecuteOptions measured;
  measured.measureTiming = true;
  for (const BadRequest& row : badRequests()) {
    SCOPED_TRACE(fmt::format("{} {}", row.rule, row.name));
    if (row.change == nullptr) continue;  // only in a message
    const auto result = (*prepared)->executeSynchronously(row.spoilt(memory->request()), measured);
    const ResultCode code = result.status.code();
    EXPECT_TRUE(code == ResultCode::BAD_DATA || (row.isOperations && code == ResultCode::OP_FAILED))
        << result.status.toString();
    EXPECT_NE(result.status.message(), "");
    EXPECT_TRUE(result.outputShapes.empty());
    EXPECT_FALSE(result.timing.timeOnDevice.has_value());
    EXPECT_FALSE(result.timing.timeInDriver.has_value());
  }
  EXPECT_TRUE((*prepared)->executeSynchronously(memory->request(), measured).status.ok());
}

INSTANTIATE_TEST_SUITE_P(EveryVersion, ServedDevice, ::testing::ValuesIn(everyServed()),
                         servedName);

}  // namespace
}  // namespace halyard::validation
