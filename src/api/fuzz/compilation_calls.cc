// Calls for compilations and bursts.
#include "api/fuzz/calls.h"

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

void create(ObjectTable& table, ByteSource& bytes) {
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

void setWishes(ObjectTable& table, ByteSource& bytes) {
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

}  // namespace

std::span<const Call> compilationCalls() {
  static constexpr Call kCalls[] = {create,      setWishes,       finish,   askAlignment,
                                    createBurst, dropCompilation, dropBurst};
  return kCalls;
}

}  // namespace halyard::api::fuzz
