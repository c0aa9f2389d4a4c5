// The rules of buffers, for a driver that makes their memory: in this process, and in its own.
#include <fstream>

#include "hal/client/remote_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "hal/testing/buffer_cases.h"
#include "personality_device.h"
#include "test_definitions.h"

namespace halyard::hal::testing {
namespace {

constexpr const char* kOwnMemory = R"({"own_memory": {}})";

std::shared_ptr<Device> openHere() {
  const auto personality = drivers::parsePersonality(kOwnMemory).value();
  return std::make_shared<ClientSession>(drivers::makePersonalityDevice(personality).value(),
                                         std::make_shared<SessionServices>());
}

std::shared_ptr<Device> openInItsProcess() {
  static const std::shared_ptr<RpcLoop> loop = RpcLoop::start().value();
  const std::string path = ::testing::TempDir() + "/own_memory.personality";
  std::ofstream(path) << kOwnMemory;
  Manifest manifest;
  manifest.name = "test-own-memory";
  manifest.version = "1";
  manifest.target = HALYARD_REFERENCE_DRIVER_PATH;
  manifest.arguments = {"--personality", path};
  const auto device = RemoteDevice::open(loop, manifest).value();
  EXPECT_TRUE(device->info().ownMemory);
  EXPECT_EQ(device->info().imports, 0u);
  return device;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(OwnMemory, BufferTest,
                         ::testing::Values(BufferDevice{"InThisProcess", openHere},
                                           BufferDevice{"InItsProcess", openInItsProcess}),
                         nameOf);

}  // namespace halyard::hal::testing
