// A driver for tests: the TestDevice in a process of its own. HALYARD_TEST_DRIVER in the
// environment selects its behaviour:
// - "silent": answers nothing
// - "exit": ends with status 3
// - "refuses", "throws": makes no device, with an error or an exception
// - "garbage": sends bytes that are not a message
// - "caching": has one cache file of each kind
// - "caching=M,D": has M model and D data cache files; "caching=M,D,P" also sets the cached
//   preferences
// - "level8": has feature level 8
// - "dies", "fails", "slow": aborts, throws or waits 250 ms in prepareModel
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "hal/testing/forbidden.h"
#include "hal/testing/test_device.h"
#include "halyard/driver/driver_main.h"

int main(int argc, char** argv) {
  using halyard::Result;
  using halyard::hal::Device;
  const char* const mode = std::getenv("HALYARD_TEST_DRIVER");
  const std::string_view text = mode != nullptr ? mode : "";
  if (text == "silent") {
    for (;;) ::pause();
  }
  if (text == "exit") return 3;
  if (text == "garbage") {
    for (int i = 0; i < 100; ++i) (void)!::write(3, "this is not a message", 21);
    for (;;) ::pause();
  }
  unsigned modelFiles = text == "caching" ? 1 : 0;
  unsigned dataFiles = modelFiles;
  unsigned preferences = halyard::hal::kEveryPreference;
  (void)std::sscanf(mode != nullptr ? mode : "", "caching=%u,%u,%u", &modelFiles, &dataFiles,
                    &preferences);
  const bool newest = text == "level8";
  return halyard::hal::driverMain(argc, argv, [=]() -> Result<std::shared_ptr<Device>> {
    if (text == "refuses") {
      return halyard::badData("/dev/doubler0\x1b is not there{}", std::string(100'000, '!'));
    }
    if (text == "throws") throw std::runtime_error("no /dev/doubler0");
    halyard::hal::testing::startElderThread();
    auto device = std::make_shared<halyard::hal::testing::TestDevice>();
    if (newest) device->mutableInfo().featureLevel = halyard::FeatureLevel::FL8;
    if (text == "dies") device->onPrepare = [] { std::abort(); };
    if (text == "fails") device->onPrepare = [] { throw std::runtime_error("no luck"); };
    if (text == "slow") {
      device->onPrepare = [] { std::this_thread::sleep_for(std::chrono::milliseconds(250)); };
    }
    device->mutableInfo().modelCacheFiles = modelFiles;
    device->mutableInfo().dataCacheFiles = dataFiles;
    device->mutableInfo().cachedPreferences = preferences;
    return std::shared_ptr<Device>(std::move(device));
  });
}
