// Tests of attributes of vendor extensions: their form, and their way over the wire. An older
// driver does not get them. The test device adds its attribute to each sum.
#include <cstring>
#include <thread>

#include "hal/client/remote_device.h"
#include "hal/testing/server_fixture.h"
#include "hal/testing/test_driver_manifest.h"

namespace halyard::hal {
namespace {

using ::testing::HasSubstr;
using namespace hal::testing;  // NOLINT: the fixture's vocabulary

constexpr uint32_t kToken = (5u << 16) | kBiasAttribute;

std::vector<uint8_t> bytesOf(float value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
ExtensionAttributes bias(float value) {
  return {{{kToken, bytesOf(value)}}, {{kTestExtension, 5}}};
}

TEST(ExtensionAttributesTest, AreFoundByNameAndCode) {
  ExtensionAttributes attributes = bias(1);
  attributes.attributes.push_back({(6u << 16) | kBiasAttribute, {}});
  attributes.extensionNameToPrefix.push_back({"com.acme.others", 6});
  EXPECT_TRUE(validateExtensionAttributes(attributes).ok());
  ASSERT_NE(attributes.find(kTestExtension, kBiasAttribute), nullptr);
  EXPECT_EQ(*attributes.find(kTestExtension, kBiasAttribute), bytesOf(1));
  ASSERT_NE(attributes.find("com.acme.others", kBiasAttribute), nullptr);
  EXPECT_TRUE(attributes.find("com.acme.others", kBiasAttribute)->empty());
  EXPECT_EQ(attributes.find(kTestExtension, kBiasAttribute + 1), nullptr);
  EXPECT_EQ(attributes.find("com.acme.missing", kBiasAttribute), nullptr);
  EXPECT_TRUE(validateExtensionAttributes({}).ok());
}

TEST(ExtensionAttributesTest, SaysWhatIsWrong) {
  const auto expectBad = [](const ExtensionAttributes& attributes, const std::string& text) {
    const Status status = validateExtensionAttributes(attributes);
    EXPECT_EQ(status.code(), ResultCode::BAD_DATA);
    EXPECT_THAT(status.message(), HasSubstr(text));
  };
  expectBad({{{kToken, {}}}, {}}, "0x00050007 belongs to no extension");
  expectBad({{{kToken, {}}}, {{"com.acme.things", 6}}}, "belongs to no extension");
  expectBad({{{kToken, {}}, {kToken, {1}}}, {{"com.acme.things", 5}}}, "0x00050007 is given twice");
  expectBad({{}, {{"things", 5}}}, "'things' is no legal name");
  expectBad({{}, {{"com.acme.things", 0}}}, "has prefix 0");
  expectBad({{}, {{"com.acme.things", 5}, {"com.acme.things", 6}}}, "is listed twice");
  expectBad({{}, {{"com.acme.things", 5}, {"com.acme.others", 5}}}, "prefix 5 is given twice");
}

TEST_F(ServerTest, AttributesOfAPreparationArrive) {
  const Outcome outcome = prepare(
      addModel(4), nullptr, [](auto call) { encodeAttributes(bias(2), call.initAttributes()); });
  ASSERT_EQ(outcome.status, wire::ErrorStatus::NONE) << outcome.message;
  const ExtensionAttributes arrived = device_->lastOptions().attributes;
  ASSERT_NE(arrived.find(kTestExtension, kBiasAttribute), nullptr);
  EXPECT_EQ(*arrived.find(kTestExtension, kBiasAttribute), bytesOf(2));
  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  EXPECT_TRUE(device_->lastOptions().attributes.empty());
}

TEST_F(ServerTest, AttributesThatAreWrongAreRefused) {
  const auto wrong = [](wire::ExtensionAttributes::Builder to) {
    encodeAttributes(bias(2), to);
    to.getAttributes()[0].setToken(7);
  };
  const Outcome refused =
      prepare(addModel(4), nullptr, [&](auto call) { wrong(call.initAttributes()); });
  EXPECT_EQ(refused.status, wire::ErrorStatus::INVALID_ARGUMENT);
  EXPECT_THAT(refused.message, HasSubstr("0x00000007 belongs to no extension"));

  ASSERT_EQ(prepare(addModel(4)).status, wire::ErrorStatus::NONE);
  const SharedMemoryPtr out = memoryOf({0, 0, 0, 0});
  const Request request = poolRequest(memoryOf(kInputs), out);
  const Outcome execution = onLoop<Outcome>([&](RpcLoop::Context&) {
    auto call = preparedClient_->executeSynchronously13Request();
    encodeRequest(request, call.initRequest());
    wrong(call.initAttributes());
    return call.send().then([](auto&& response) -> Outcome {
      return {response.getStatus(), response.getMessage().cStr()};
    });
  });
  EXPECT_EQ(execution.status, wire::ErrorStatus::INVALID_ARGUMENT);
  EXPECT_THAT(execution.message, HasSubstr("belongs to no extension"));
  EXPECT_EQ(contentsOf(*out), (std::vector<float>{0, 0, 0, 0}));
}

// A model of the test device in its own process. `mode` sets the device's feature level.
std::shared_ptr<PreparedModel> preparedWith(const char* mode, float preparedBias) {
  ::setenv("HALYARD_TEST_DRIVER", mode, 1);
  auto device = RemoteDevice::open(RpcLoop::start().value(), testing::testManifest());
  ::unsetenv("HALYARD_TEST_DRIVER");
  EXPECT_TRUE(device.ok()) << device.status().toString();
  PrepareOptions options;
  options.attributes = bias(preparedBias);
  auto prepared = (*device)->prepareModel(validated(addModel(1)).value(), options);
  EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  return *prepared;
}

TEST(RemoteAttributesTest, ReachADriverOfLevel8HoweverItComputes) {
  const auto prepared = preparedWith("level8", 100);
  const float a = 1;
  float out = 0;
  const Request request = pointerRequest(&a, &a, &out, 1);
  ExecuteOptions options;
  EXPECT_TRUE(prepared->executeSynchronously(request, options).status.ok());
  EXPECT_EQ(out, 102);
  // The first execution uses a call instead of the ring, and the second uses the ring again.
  options.attributes = bias(10);
  EXPECT_TRUE(prepared->executeSynchronously(request, options).status.ok());
  EXPECT_EQ(out, 112);
  EXPECT_TRUE(prepared->executeSynchronously(request, {}).status.ok());
  EXPECT_EQ(out, 102);
  auto burst = prepared->configureBurst();
  ASSERT_TRUE(burst.ok()) << burst.status().toString();
  EXPECT_TRUE((*burst)->execute(request, options).status.ok());
  EXPECT_EQ(out, 112);
  EXPECT_TRUE((*burst)->execute(request, {}).status.ok());
  EXPECT_EQ(out, 102);

  const SharedMemoryPtr in = memoryOf({1, 2});
  const SharedMemoryPtr sum = memoryOf({0});
  Request pools;
  pools.inputs = {poolArgument(0, 0, 4), poolArgument(0, 4, 4)};
  pools.outputs = {poolArgument(1, 0, 4)};
  pools.pools = {in, sum};
  FencedResult fenced = prepared->executeFenced(pools, {}, options, std::nullopt);
  ASSERT_TRUE(fenced.status.ok()) << fenced.status.toString();
  if (fenced.fence.valid()) {
    EXPECT_EQ(waitFence(fenced.fence.get()).value(), FenceState::SIGNALLED);
  }
  EXPECT_EQ(contentsOf(*sum), std::vector<float>{113});
}

TEST(RemoteAttributesTest, AreNotSentToADriverBelowLevel8) {
  const auto prepared = preparedWith("", 100);
  const float a = 1;
  float out = 0;
  const Request request = pointerRequest(&a, &a, &out, 1);
  ExecuteOptions options;
  options.attributes = bias(10);
  EXPECT_TRUE(prepared->executeSynchronously(request, options).status.ok());
  EXPECT_EQ(out, 2);
  auto burst = prepared->configureBurst();
  ASSERT_TRUE(burst.ok()) << burst.status().toString();
  EXPECT_TRUE((*burst)->execute(request, options).status.ok());
  EXPECT_EQ(out, 2);
  const FencedResult fenced = prepared->executeFenced(request, {}, options, std::nullopt);
  ASSERT_TRUE(fenced.status.ok()) << fenced.status.toString();
  if (fenced.fence.valid()) {
    EXPECT_EQ(waitFence(fenced.fence.get()).value(), FenceState::SIGNALLED);
  }
  EXPECT_EQ(out, 2);
}

}  // namespace
}  // namespace halyard::hal
