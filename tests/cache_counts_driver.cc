// A driver for cache_counts_test: a device of HAL 1.3 without operations. Its arguments set its
// answer to getNumberOfCacheFilesNeeded.
//   cache_counts_driver --fd=N -- STATUS MODEL_FILES DATA_FILES
// STATUS is a number of ErrorStatus, or "silent" for no answer. A driver made with the driver
// library cannot give such answers.
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/io.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "hal/driver.capnp.h"
#include "hal/v1_3.capnp.h"

namespace {

namespace wire = halyard::wire;

struct Answer {
  std::optional<uint16_t> status;  // of ErrorStatus; nullopt: no answer
  uint32_t modelFiles = 0;
  uint32_t dataFiles = 0;
};

class Device final : public wire::v1_3::IDevice::Server {
 public:
  explicit Device(const Answer& answer) : answer_(answer) {}

  kj::Promise<void> getCapabilities13(GetCapabilities13Context context) override {
    auto capabilities = context.getResults().initCapabilities();
    set(capabilities.initRelaxedFloat32toFloat16PerformanceScalar());
    set(capabilities.initRelaxedFloat32toFloat16PerformanceTensor());
    set(capabilities.initIfPerformance());
    set(capabilities.initWhilePerformance());
    return kj::READY_NOW;
  }
  kj::Promise<void> getVersionString(GetVersionStringContext context) override {
    context.getResults().setVersion("counts 1");
    return kj::READY_NOW;
  }
  kj::Promise<void> getType(GetTypeContext context) override {
    context.getResults().setType(wire::DeviceType::ACCELERATOR);
    return kj::READY_NOW;
  }
  kj::Promise<void> getSupportedExtensions(GetSupportedExtensionsContext) override {
    return kj::READY_NOW;
  }
  kj::Promise<void> getNumberOfCacheFilesNeeded(
      GetNumberOfCacheFilesNeededContext context) override {
    if (!answer_.status) return kj::NEVER_DONE;
    auto results = context.getResults();
    results.setStatus(static_cast<wire::ErrorStatus>(*answer_.status));
    results.setNumModelCache(answer_.modelFiles);
    results.setNumDataCache(answer_.dataFiles);
    return kj::READY_NOW;
  }

 private:
  static void set(wire::PerformanceInfo::Builder info) {
    info.setExecTime(0.5F);
    info.setPowerUsage(0.5F);
  }

  const Answer answer_;
};

class Driver final : public wire::IDriver::Server {
 public:
  explicit Driver(const Answer& answer) : answer_(answer) {}

  kj::Promise<void> hello(HelloContext context) override {
    auto results = context.getResults();
    results.setProtocolVersion(wire::PROTOCOL_VERSION);
    results.setProcessId(::getpid());
    results.setHalVersion(13);
    results.setDevice(kj::heap<Device>(answer_));
    return kj::READY_NOW;
  }
  kj::Promise<void> ping(PingContext) override { return kj::READY_NOW; }

 private:
  const Answer answer_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 || std::strncmp(argv[1], "--fd=", 5) != 0) return 2;
  Answer answer;
  if (argv[3] != std::string_view("silent")) {
    answer.status = static_cast<uint16_t>(std::atoi(argv[3]));
  }
  answer.modelFiles = static_cast<uint32_t>(std::atoi(argv[4]));
  answer.dataFiles = static_cast<uint32_t>(std::atoi(argv[5]));
  auto io = kj::setupAsyncIo();
  auto stream = io.lowLevelProvider->wrapUnixSocketFd(kj::AutoCloseFd(std::atoi(argv[1] + 5)));
  capnp::TwoPartyVatNetwork network(*stream, wire::MAX_FDS_PER_MESSAGE,
                                    capnp::rpc::twoparty::Side::SERVER);
  auto rpc = capnp::makeRpcServer(network, capnp::Capability::Client(kj::heap<Driver>(answer)));
  network.onDisconnect().wait(io.waitScope);
  return 0;
}
