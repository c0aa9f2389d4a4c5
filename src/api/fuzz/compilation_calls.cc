// Calls for compilations, bursts and devices.
#include <android/NeuralNetworksSupportLibraryImpl.h>
#include <sys/mman.h>

#include "api/fuzz/calls.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::api::fuzz {
namespace {

ANeuralNetworksCompilation* handleOf(const CompilationObject* compilation) {
  return compilation == nullptr ? nullptr : compilation->handle;
}

// The CPU device of the runtime, so that the fuzzed code stays in this process.
const ANeuralNetworksDevice* cpuDevice() {
  uint32_t count = 0;
  ANeuralNetworksDevice* device = nullptr;
  if (!check(ANeuralNetworks_getDeviceCount(&count)) ||
      !check(ANeuralNetworks_getDevice(count - 1, &device))) {
    fail("no CPU device");
  }
  return device;
}

void createCompilation(ObjectTable& table, ByteSource& bytes) {
  const ModelObject* const model = table.pick(table.models, bytes);
  ANeuralNetworksModel* const handle = model ? model->handle : nullptr;
  auto made = std::make_unique<CompilationObject>();
  made->model = model;
  int code = 0;
  if (bytes.oneIn(5)) {
    code = ANeuralNetworksCompilation_create(handle, &made->handle);
  } else {
    const ANeuralNetworksDevice* const devices[] = {cpuDevice(), cpuDevice()};
    const uint32_t count = bytes.oneIn(20) ? bytes.below(3) : 1;
    made->forOneDevice = count == 1;
    code = ANeuralNetworksCompilation_createForDevices(handle, bytes.oneIn(40) ? nullptr : devices,
                                                       count, &made->handle);
  }
  if (!check(code)) return;
  if (made->handle == nullptr || !model->finished) fail("a compilation of nothing");
  table.compilations.push_back(std::move(made));
}

void setCompilationWishes(ObjectTable& table, ByteSource& bytes) {
  ANeuralNetworksCompilation* const handle = handleOf(table.pick(table.compilations, bytes));
  switch (bytes.below(4)) {
    case 0:
      check(ANeuralNetworksCompilation_setPreference(handle, bytes.byte() - 2));
      return;
    case 1:
      check(ANeuralNetworksCompilation_setPriority(handle, bytes.byte()));
      return;
    case 2:
      check(ANeuralNetworksCompilation_setTimeout(handle, bytes.number64()));
      return;
    default: {
      const uint8_t* const token = table.buffer(ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN, bytes);
      // An invalid folder gives a compilation without a cache.
      check(ANeuralNetworksCompilation_setCaching(handle, bytes.oneIn(5) ? nullptr : "/dev/null",
                                                  bytes.oneIn(5) ? nullptr : token));
    }
  }
}

void finish(ObjectTable& table, ByteSource& bytes) {
  check(ANeuralNetworksCompilation_finish(handleOf(table.pick(table.compilations, bytes))));
}

void askAlignment(ObjectTable& table, ByteSource& bytes) {
  using Query = int (*)(const ANeuralNetworksCompilation*, uint32_t, uint32_t*);
  static constexpr Query kQueries[] = {
      ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput,
      ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput,
      ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput,
      ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput,
  };
  const ANeuralNetworksCompilation* const handle = handleOf(table.pick(table.compilations, bytes));
  uint32_t value = 0;
  const Query query = kQueries[bytes.below(4)];
  if (!check(query(handle, bytes.byte() % 8u, &value))) return;
  if (value == 0 || (value & (value - 1)) != 0) fail("an alignment that is no power of two");
}

void createBurst(ObjectTable& table, ByteSource& bytes) {
  const CompilationObject* const compilation = table.pick(table.compilations, bytes);
  auto made = std::make_unique<BurstObject>();
  made->compilation = compilation;
  if (!check(ANeuralNetworksBurst_create(handleOf(compilation), &made->handle))) return;
  if (made->handle == nullptr) fail("success without a burst");
  table.bursts.push_back(std::move(made));
}

void dropCompilation(ObjectTable& table, ByteSource& bytes) {
  if (const auto* const compilation = table.pick(table.compilations, bytes)) {
    table.drop(compilation);
  }
}

void dropBurst(ObjectTable& table, ByteSource& bytes) {
  if (const auto* const burst = table.pick(table.bursts, bytes)) table.drop(burst);
}

// Descriptors of memory, of no file, and invalid ones. The callee duplicates the descriptors that
// it keeps.
void setCacheFiles(ObjectTable& table, ByteSource& bytes) {
  ANeuralNetworksCompilation* const handle = handleOf(table.pick(table.compilations, bytes));
  std::vector<int> files(bytes.below(4));
  std::vector<UniqueFd> memory;
  for (int& file : files) {
    switch (bytes.below(3)) {
      case 0:
        memory.emplace_back(::memfd_create("fuzz", MFD_CLOEXEC));
        file = memory.back().get();
        break;
      case 1:
        file = 1 << 20;
        break;
      default:
        file = -1;
    }
  }
  const uint8_t* const token = table.buffer(ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN, bytes);
  const auto modelFiles = static_cast<uint32_t>(bytes.below(files.size() + 1));
  check(SL_ANeuralNetworksCompilation_setCachingFromFds(
      handle, bytes.oneIn(5) ? nullptr : files.data(), modelFiles, files.data() + modelFiles,
      static_cast<uint32_t>(files.size()) - modelFiles, bytes.oneIn(5) ? nullptr : token));
}

void askDevice(ObjectTable&, ByteSource& bytes) {
  const ANeuralNetworksDevice* const device = bytes.oneIn(10) ? nullptr : cpuDevice();
  const auto index = static_cast<uint32_t>(bytes.byte());
  uint32_t count = 0;
  const char* name = nullptr;
  SL_ANeuralNetworksPerformanceInfo info;
  switch (bytes.below(5)) {
    case 0:
      check(SL_ANeuralNetworksDevice_getPerformanceInfo(device, static_cast<int8_t>(index), &info));
      return;
    case 1:
      if (check(SL_ANeuralNetworksDevice_getVendorExtensionName(device, index, &name)) &&
          name == nullptr) {
        fail("an extension without a name");
      }
      return;
    case 2:
      check(SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
          device, index, nullptr, [](SL_ANeuralNetworksExtensionOperandTypeInformation, void*) {}));
      return;
    case 3:
      check(SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
          device, nullptr, [](SL_ANeuralNetworksOperandPerformanceInfo, void*) {}));
      return;
    default:
      check(SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(device, &count, &count));
  }
}

}  // namespace

std::span<const Call> compilationCalls() {
  static constexpr Call kCalls[] = {createCompilation, setCompilationWishes, finish,
                                    askAlignment,      createBurst,          dropCompilation,
                                    dropBurst,         setCacheFiles,        askDevice};
  return kCalls;
}

}  // namespace halyard::api::fuzz
