// The defaults of hal::Device.
#include "halyard/driver/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hal/testing/test_device.h"

namespace halyard::hal {
namespace {

using testing::addModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers what a test wants, and counts.
class ScriptedDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  Result<SupportedOperations> getSupportedOperations(const ValidModel&) override {
    return supported;
  }
  Result<std::shared_ptr<PreparedModel>> prepareModel(const ValidModel& model,
                                                      const PrepareOptions& options) override {
    ++preparations;
    lastOptions = options;
    return real_.prepareModel(model, options);
  }

  Result<SupportedOperations> supported = SupportedOperations{true};
  int preparations = 0;
  PrepareOptions lastOptions;
  // Called by every preparation; it may throw.
  std::function<void()>& onPrepare() { return real_.onPrepare; }

 private:
  testing::TestDevice real_;
  DeviceInfo info_ = real_.info();
};

std::shared_ptr<const Model> model() { return std::make_shared<const Model>(addModel(4)); }

TEST(DevicePrepareIfSupported, PreparesAModelThatIsSupported) {
  ScriptedDevice device;
  PrepareOptions options;
  options.priority = Priority::HIGH;
  const auto both = device.prepareIfSupported(validated(model()).value(), options);
  ASSERT_TRUE(both.ok()) << both.status().toString();
  EXPECT_THAT(both->supported, ElementsAre(true));
  ASSERT_TRUE(both->prepared.has_value());
  ASSERT_TRUE(both->prepared->ok()) << both->prepared->status().toString();
  EXPECT_NE(**both->prepared, nullptr);
  EXPECT_EQ(device.preparations, 1);
  EXPECT_EQ(device.lastOptions.priority, Priority::HIGH);
}

TEST(DevicePrepareIfSupported, PreparesNothingElse) {
  ScriptedDevice device;
  // The second has an answer of the wrong length, which is for the caller to judge.
  for (const SupportedOperations& supported : {SupportedOperations{false}, SupportedOperations{}}) {
    device.supported = supported;
    const auto both = device.prepareIfSupported(validated(model()).value(), {});
    ASSERT_TRUE(both.ok()) << both.status().toString();
    EXPECT_EQ(both->supported, supported);
    EXPECT_FALSE(both->prepared.has_value());
  }
  EXPECT_EQ(device.preparations, 0);
}

TEST(DevicePrepareIfSupported, TellsTheTwoErrorsApart) {
  ScriptedDevice device;
  device.supported = opFailed("no idea");
  EXPECT_THAT(device.prepareIfSupported(validated(model()).value(), {}).status().message(),
              HasSubstr("no idea"));
  EXPECT_EQ(device.preparations, 0);

  device.supported = SupportedOperations{true};
  auto subtraction = addModel(4);
  subtraction.main.operations[0].type = OperationType::SUB;
  const auto both = device.prepareIfSupported(
      validated(std::make_shared<const Model>(std::move(subtraction))).value(), {});
  ASSERT_TRUE(both.ok()) << both.status().toString();
  ASSERT_TRUE(both->prepared.has_value());
  EXPECT_FALSE(both->prepared->ok());
}

}  // namespace
}  // namespace halyard::hal
