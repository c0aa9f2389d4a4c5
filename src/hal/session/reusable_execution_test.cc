// Tests of repeated executions in a session: the checks of each computation, and incorrect drivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/test_device.h"

namespace halyard::hal {
namespace {

using testing::addModel;
using ::testing::HasSubstr;
using testing::pointerRequest;

// A model whose behaviour the test controls.
class RepeatedModel final : public PreparedModel {
 public:
  std::function<Result<std::unique_ptr<ReusableExecution>>()> onCreate;
  std::function<ExecutionResult()> onCompute = [] { return ExecutionResult(); };

  ExecutionResult executeSynchronously(const Request&, const ExecuteOptions&) override {
    ++plain;
    return onCompute();
  }
  Result<std::unique_ptr<ReusableExecution>> createReusableExecution(
      const Request& request) override {
    return onCreate ? onCreate() : PreparedModel::createReusableExecution(request);
  }

  int plain = 0;
};

class RepeatedModelDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    return SupportedOperations(model->main.operations.size(), true);
  }
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel&,
                                                      const PrepareOptions&) override {
    return std::shared_ptr<PreparedModel>(scripted);
  }

  const std::shared_ptr<RepeatedModel> scripted = std::make_shared<RepeatedModel>();

 private:
  const DeviceInfo info_ = testing::TestDevice().info();
};

class ReusableExecutionTest : public ::testing::Test {
 protected:
  ReusableExecutionTest() {
    prepared_ = session_.prepareModel(validated(addModel(2)).value(), {}).value();
  }
  Result<std::unique_ptr<ReusableExecution>> create() {
    return prepared_->createReusableExecution(request_);
  }

  const std::shared_ptr<RepeatedModelDevice> device_ = std::make_shared<RepeatedModelDevice>();
  ClientSession session_{device_, std::make_shared<SessionServices>()};
  std::shared_ptr<PreparedModel> prepared_;
  float in_[2] = {1, 2};
  float out_[2] = {};
  Request request_ = pointerRequest(in_, in_, out_, 2);
};

TEST_F(ReusableExecutionTest, DriversNeedNotHaveThem) {
  const auto execution = create();
  ASSERT_TRUE(execution.ok()) << execution.status().toString();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE((*execution)->compute({}).status.ok());
  EXPECT_EQ(device_->scripted->plain, 3);
}

// In a burst, a computation counts as an execution of the burst.
TEST_F(ReusableExecutionTest, BurstsComputeThem) {
  auto burst = prepared_->configureBurst().value();
  auto execution = burst->createReusableExecution(request_);
  ASSERT_TRUE(execution.ok()) << execution.status().toString();
  EXPECT_TRUE((*execution)->compute({}).status.ok());
  RepeatedModel& driver = *device_->scripted;
  driver.onCompute = [&] {
    EXPECT_EQ(burst->execute(request_, {}).status.code(), ResultCode::BAD_STATE);
    return ExecutionResult();
  };
  EXPECT_TRUE((*execution)->compute({}).status.ok());
  driver.onCompute = [&] {
    EXPECT_EQ((*execution)->compute({}).status.code(), ResultCode::BAD_STATE);
    return ExecutionResult();
  };
  EXPECT_TRUE(burst->execute(request_, {}).status.ok());
  driver.onCompute = [] { return ExecutionResult(); };
  burst.reset();
  EXPECT_TRUE((*execution)->compute({}).status.ok()) << "it outlives the burst";
  EXPECT_EQ(driver.plain, 4);
  request_.inputs.pop_back();
  EXPECT_EQ(prepared_->configureBurst().value()->createReusableExecution(request_).status().code(),
            ResultCode::BAD_DATA);
}

TEST_F(ReusableExecutionTest, RequestsAreChecked) {
  request_.inputs.pop_back();
  EXPECT_EQ(create().status().code(), ResultCode::BAD_DATA);
  EXPECT_EQ(device_->scripted->plain, 0);
}

TEST_F(ReusableExecutionTest, CreationMayFail) {
  RepeatedModel& driver = *device_->scripted;
  driver.onCreate = [] { return opFailed("not this one"); };
  EXPECT_THAT(create().status().toString(), HasSubstr("OP_FAILED: not this one"));
  driver.onCreate = []() -> Result<std::unique_ptr<ReusableExecution>> {
    throw std::runtime_error("thrown");
  };
  EXPECT_THAT(create().status().toString(), HasSubstr("the driver failed: thrown"));
  driver.onCreate = [] { return std::unique_ptr<ReusableExecution>(); };
  EXPECT_THAT(create().status().toString(), HasSubstr("created no execution"));
}

TEST_F(ReusableExecutionTest, EachComputationIsLookedAt) {
  const auto execution = create();
  ASSERT_TRUE(execution.ok()) << execution.status().toString();
  RepeatedModel& driver = *device_->scripted;
  driver.onCompute = []() -> ExecutionResult { throw std::bad_alloc(); };
  EXPECT_EQ((*execution)->compute({}).status.code(), ResultCode::RESOURCE_EXHAUSTED_TRANSIENT);
  driver.onCompute = [] { return ExecutionResult{okStatus(), {{{7}, true}}, {}}; };
  EXPECT_THAT((*execution)->compute({}).status.message(), HasSubstr("expected [2]"));
  driver.onCompute = [] { return ExecutionResult{okStatus(), {}, {1, 2}}; };
  EXPECT_FALSE((*execution)->compute({}).timing.timeInDriver.has_value()) << "nobody asked";
  ExecuteOptions late;
  late.deadline = Clock::now() - std::chrono::milliseconds(1);
  const int before = driver.plain;
  EXPECT_EQ((*execution)->compute(late).status.code(), ResultCode::MISSED_DEADLINE_PERSISTENT);
  session_.end();
  EXPECT_EQ((*execution)->compute({}).status.code(), ResultCode::OP_FAILED);
  EXPECT_EQ(driver.plain, before) << "the driver has not been asked";
}

}  // namespace
}  // namespace halyard::hal
