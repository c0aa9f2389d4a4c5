// Tests vendor extensions on drivers that offer some. test-agreeing and test-disagreeing describe
// com.acme.things in the same way, and com.acme.disputed differently.
#include <android/NeuralNetworksSupportLibraryImpl.h>

#include "validation/misuse/misuse_for_test.h"

namespace halyard::misuse {
namespace {

constexpr const char* kThings = "com.acme.things";
constexpr uint16_t kBlocks = 1;
constexpr uint16_t kKnob = 2;

std::vector<Misuse> rows() { return joined({extensionMisuses(), offeredExtensionMisuses()}); }
INSTANTIATE_TEST_SUITE_P(Extensions, MisuseTable, ::testing::ValuesIn(rows()), rowName);

TEST(MisuseTables, HaveRowsForEveryFunction) {
  expectRowsForEveryFunction(rows(), "LIBNEURALNETWORKS_PLATFORM");
}

bool offers(const std::string& device, const char* extension) {
  bool supported = false;
  ROW_OK(ANeuralNetworksDevice_getExtensionSupport(deviceNamed(device), extension, &supported));
  return supported;
}
int32_t typeOf(ANeuralNetworksModel* model, const char* extension, uint16_t code) {
  int32_t type = -1;
  ROW_OK(ANeuralNetworksModel_getExtensionOperandType(model, extension, code, &type));
  return type;
}

using Extensions = WithAWorld;

TEST_F(Extensions, DevicesOfferThemUnlessTheyDisagree) {
  EXPECT_TRUE(offers("test-agreeing", kThings));
  EXPECT_TRUE(offers("test-disagreeing", kThings));
  EXPECT_FALSE(offers(kCpuDevice, kThings));
  EXPECT_FALSE(offers("test-agreeing", "com.acme.missing"));
  EXPECT_FALSE(offers("test-agreeing", "com.acme.disputed"));
  EXPECT_FALSE(offers("test-disagreeing", "com.acme.disputed"));
  char* json = nullptr;
  ROW_OK(halyard_devicesJson(&json));
  const std::string devices = json;
  halyard_free(json);
  EXPECT_THAT(devices,
              ::testing::HasSubstr("the devices test-agreeing and test-disagreeing describe "
                                   "the extension 'com.acme.disputed' differently"));
}

TEST_F(Extensions, TheSupportLibraryListsTheOffered) {
  for (const char* name : {"test-agreeing", "test-disagreeing"}) {
    const ANeuralNetworksDevice* const device = deviceNamed(name);
    uint32_t count = 0;
    ROW_OK(SL_ANeuralNetworksDevice_getVendorExtensionCount(device, &count));
    std::vector<std::string> listed;
    for (uint32_t i = 0; i < count; ++i) {
      const char* extension = nullptr;
      ROW_OK(SL_ANeuralNetworksDevice_getVendorExtensionName(device, i, &extension));
      listed.emplace_back(extension);
    }
    EXPECT_THAT(listed, ::testing::Contains(kThings));
    for (const std::string& extension : listed) EXPECT_TRUE(offers(name, extension.c_str()));
  }
}

TEST_F(Extensions, TypesAreNumberedByAPrefix) {
  ANeuralNetworksModel* const m = world().model();
  const int32_t blocks = typeOf(m, kThings, kBlocks);
  EXPECT_EQ(typeOf(world().model(), kThings, kKnob) >> 16, blocks >> 16);
  EXPECT_EQ(blocks & 0xffff, kBlocks);
  EXPECT_GE(blocks >> 16, 1);
  EXPECT_NE(typeOf(m, "com.acme.missing", 0) >> 16, blocks >> 16);
  int32_t operation = 0;
  ROW_OK(ANeuralNetworksModel_getExtensionOperationType(m, kThings, 5, &operation));
  EXPECT_EQ(operation, (blocks & ~0xffff) | 5);
}

// No device supports the operation, and neither does the CPU device.
TEST_F(Extensions, OperationsAreSupportedByNobodyElse) {
  ANeuralNetworksModel* const m = world().model();
  ROW_OK(addOperand(m, typeOf(m, kThings, kBlocks), {2}));
  ROW_OK(addOperand(m, typeOf(m, kThings, kBlocks), {2}));
  int32_t operation = 0;
  ROW_OK(ANeuralNetworksModel_getExtensionOperationType(m, kThings, 5, &operation));
  ROW_OK(addOperation(m, operation, {0}, {1}));
  ROW_OK(identifyInputsAndOutputs(m, {0}, {1}));
  ROW_OK(ANeuralNetworksModel_finish(m));
  const ANeuralNetworksDevice* const devices[] = {
      deviceNamed("test-agreeing"), deviceNamed("test-disagreeing"), deviceNamed(kCpuDevice)};
  bool supported = true;
  ROW_OK(ANeuralNetworksModel_getSupportedOperationsForDevices(m, devices, 3, &supported));
  EXPECT_FALSE(supported);
  ROW_ERROR(ANeuralNetworksCompilation_finish(world().freeCompilation(m)), kBadData,
            "extension operation");
  ROW_ERROR(ANeuralNetworksCompilation_finish(world().compilation(m)), kBadData,
            "extension operation");
}

}  // namespace
}  // namespace halyard::misuse
