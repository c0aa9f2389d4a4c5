// A driver built with an older schema of the wire: HAL 1.0 and 1.3, ADD of two float32 inputs, and
// no getFeatureLevel. It reports the protocol number in OLD_DRIVER_PROTOCOL in the environment.
//   old_driver --fd=N
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/io.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "driver.capnp.h"
#include "v1_3.capnp.h"

namespace {

namespace wire = halyard::wire_schema_1;
constexpr auto kNone = wire::ErrorStatus::NONE;

// The pools of a request, mapped. The descriptors belong to the call's parameters.
kj::Promise<kj::Array<char*>> mapPools(wire::Request::Reader request) {
  const auto pools = request.getPools();
  auto mapped = kj::heapArrayBuilder<kj::Promise<char*>>(pools.size());
  for (const auto pool : pools) {
    const auto memory = pool.getMemory();
    const uint64_t size = memory.getSize();
    const uint64_t offset = memory.getOffset();
    auto file = memory.getFile();
    if (file.isSameAs()) file = pools[file.getSameAs()].getMemory().getFile();
    auto client = file.getFd();
    auto promise = client.getFd().then([size, offset](kj::Maybe<int> fd) {
      return static_cast<char*>(::mmap(nullptr, offset + size, PROT_READ | PROT_WRITE, MAP_SHARED,
                                       KJ_ASSERT_NONNULL(fd), 0)) +
             offset;
    });
    mapped.add(promise.attach(kj::mv(client)));
  }
  return kj::joinPromises(mapped.finish());
}

void add(wire::Request::Reader request, const kj::Array<char*>& pools) {
  const auto at = [&](wire::RequestArgument::Reader argument) {
    return pools[argument.getLocation().getPoolIndex()] + argument.getLocation().getOffset();
  };
  const auto inputs = request.getInputs();
  const auto output = request.getOutputs()[0];
  for (uint32_t i = 0; i < output.getLocation().getLength(); i += sizeof(float)) {
    float a = 0;
    float b = 0;
    std::memcpy(&a, at(inputs[0]) + i, sizeof a);
    std::memcpy(&b, at(inputs[1]) + i, sizeof b);
    a += b;
    std::memcpy(at(output) + i, &a, sizeof a);
  }
}

class PreparedModel final : public wire::v1_3::IPreparedModel::Server {
 public:
  kj::Promise<void> executeSynchronously13(ExecuteSynchronously13Context context) override {
    const auto request = context.getParams().getRequest();
    return mapPools(request).then([context, request](kj::Array<char*> pools) mutable {
      add(request, pools);
      context.getResults().setStatus(kNone);
    });
  }
  kj::Promise<void> execute(ExecuteContext context) override {
    const auto request = context.getParams().getRequest();
    return mapPools(request).then([context, request](kj::Array<char*> pools) mutable {
      add(request, pools);
      context.getResults().setStatus(kNone);
      auto notify = context.getParams().getCallback().notifyRequest();
      notify.setStatus(kNone);
      return notify.send().ignoreResult();
    });
  }
};

class Device final : public wire::v1_3::IDevice::Server {
 public:
  kj::Promise<void> getCapabilities(GetCapabilitiesContext context) override {
    auto results = context.getResults();
    set(results.getCapabilities().initFloat32Performance());
    set(results.getCapabilities().initQuantized8Performance());
    return kj::READY_NOW;
  }
  kj::Promise<void> getCapabilities13(GetCapabilities13Context context) override {
    auto capabilities = context.getResults().initCapabilities();
    set(capabilities.initRelaxedFloat32toFloat16PerformanceScalar());
    set(capabilities.initRelaxedFloat32toFloat16PerformanceTensor());
    set(capabilities.initIfPerformance());
    set(capabilities.initWhilePerformance());
    auto entry = capabilities.initOperandPerformance(1)[0];
    entry.setType(3);  // TENSOR_FLOAT32
    set(entry.initInfo());
    return kj::READY_NOW;
  }
  kj::Promise<void> getVersionString(GetVersionStringContext context) override {
    context.getResults().setVersion("old 1");
    return kj::READY_NOW;
  }
  kj::Promise<void> getType(GetTypeContext context) override {
    context.getResults().setType(wire::DeviceType::ACCELERATOR);
    return kj::READY_NOW;
  }
  kj::Promise<void> getSupportedExtensions(GetSupportedExtensionsContext) override {
    return kj::READY_NOW;
  }
  kj::Promise<void> getNumberOfCacheFilesNeeded(GetNumberOfCacheFilesNeededContext) override {
    return kj::READY_NOW;
  }
  kj::Promise<void> getStatus(GetStatusContext) override { return kj::READY_NOW; }
  kj::Promise<void> getSupportedOperations(GetSupportedOperationsContext context) override {
    return answer(context);
  }
  kj::Promise<void> getSupportedOperations13(GetSupportedOperations13Context context) override {
    return answer(context);
  }
  kj::Promise<void> prepareModel(PrepareModelContext context) override {
    auto notify = context.getParams().getCallback().notifyRequest();
    notify.setPreparedModel(kj::heap<PreparedModel>());
    return notify.send().ignoreResult();
  }
  kj::Promise<void> prepareModel13(PrepareModel13Context context) override {
    // The oldest form of the notification, which every caller accepts.
    auto notify = context.getParams().getCallback().notifyRequest();
    notify.setPreparedModel(kj::heap<PreparedModel>());
    return notify.send().ignoreResult();
  }

 private:
  static void set(wire::PerformanceInfo::Builder info) {
    info.setExecTime(0.5f);
    info.setPowerUsage(0.5f);
  }
  template <typename Context>
  static kj::Promise<void> answer(Context context) {
    const auto operations = context.getParams().getModel().getMain().getOperations();
    auto supported = context.getResults().initSupported(operations.size());
    for (unsigned i = 0; i < operations.size(); ++i) {
      supported.set(i, operations[i].getType() == 0);  // ADD
    }
    return kj::READY_NOW;
  }
};

class Driver final : public wire::IDriver::Server {
 public:
  kj::Promise<void> hello(HelloContext context) override {
    const char* const claimed = std::getenv("OLD_DRIVER_PROTOCOL");
    auto results = context.getResults();
    results.setProtocolVersion(claimed != nullptr ? static_cast<uint32_t>(std::atoi(claimed))
                                                  : static_cast<uint32_t>(wire::PROTOCOL_VERSION));
    results.setProcessId(::getpid());
    results.setHalVersion(13);
    results.setDevice(kj::heap<Device>());
    return kj::READY_NOW;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::strncmp(argv[1], "--fd=", 5) != 0) return 2;
  auto io = kj::setupAsyncIo();
  auto stream = io.lowLevelProvider->wrapUnixSocketFd(kj::AutoCloseFd(std::atoi(argv[1] + 5)));
  capnp::TwoPartyVatNetwork network(*stream, wire::MAX_FDS_PER_MESSAGE,
                                    capnp::rpc::twoparty::Side::SERVER);
  auto rpc = capnp::makeRpcServer(network, capnp::Capability::Client(kj::heap<Driver>()));
  network.onDisconnect().wait(io.waitScope);
  return 0;
}
