// The reference driver's device.
#include "reference_device.h"

#include "cpu/cpu_device.h"

namespace halyard::drivers {

std::shared_ptr<hal::Device> makeReferenceDevice() {
  hal::DeviceInfo info;
  info.name = "halyard-reference";
  info.versionString = "halyard-reference " HALYARD_VERSION;
  info.halVersion = HalVersion::V1_3;
  info.featureLevel = FeatureLevel::FL8;
  info.type = hal::DeviceType::CPU;
  info.capabilities = hal::Capabilities::uniform({1.1f, 1.1f});
  return cpu::makeCpuDevice(std::move(info), /*threads=*/0, /*reportsTiming=*/true);
}

}  // namespace halyard::drivers
