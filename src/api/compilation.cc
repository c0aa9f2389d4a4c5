// Entry points ANeuralNetworksCompilation_*.
#include "api/objects.h"

namespace halyard::api {

Result<std::vector<const runtime::Device*>> readDevices(const ANeuralNetworksDevice* const* devices,
                                                        uint32_t count) {
  std::vector<const runtime::Device*> result;
  for (uint32_t i = 0; i < count; ++i) {
    if (devices[i] == nullptr) return unexpectedNull("devices[{}] is null", i);
    for (uint32_t j = i + 1; j < count; ++j) {
      if (devices[i] == devices[j])
        return badData("devices[{}] and devices[{}] are the same", i, j);
    }
    const runtime::Device* device = deviceManager().find(devices[i]);
    if (device == nullptr) return noDevice(fmt::format("devices[{}]", i));
    result.push_back(device);
  }
  return result;
}

namespace {

// The preferred alignment or padding of one input or output.
Status preferred(const ANeuralNetworksCompilation* compilation, uint32_t index, bool isInput,
                 bool alignment, uint32_t* result) {
  HALYARD_RETURN_IF_ERROR(compilation->impl->checkValid());
  const Subgraph& main = compilation->impl->model().main;
  const size_t count = isInput ? main.inputIndexes.size() : main.outputIndexes.size();
  if (index >= count) {
    return badData("{} {} of a model with {}", isInput ? "input" : "output", index, count);
  }
  *result =
      alignment ? compilation->impl->preferredAlignment() : compilation->impl->preferredPadding();
  return okStatus();
}

}  // namespace
}  // namespace halyard::api

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int ANeuralNetworksCompilation_create(ANeuralNetworksModel* model,
                                      ANeuralNetworksCompilation** compilation) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(compilation);
    *compilation = nullptr;
    std::vector<const runtime::Device*> devices;
    for (const runtime::Device& device : api::deviceManager().devices()) devices.push_back(&device);
    HALYARD_ASSIGN_OR_RETURN(auto impl,
                             runtime::Compilation::create(model->impl, std::move(devices), false));
    *compilation = new ANeuralNetworksCompilation{std::move(impl)};
    return okStatus();
  });
}

int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel* model,
                                                const ANeuralNetworksDevice* const* devices,
                                                uint32_t numDevices,
                                                ANeuralNetworksCompilation** compilation) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(model);
    HALYARD_RETURN_IF_NULL(devices);
    HALYARD_RETURN_IF_NULL(compilation);
    *compilation = nullptr;
    if (numDevices == 0) return badData("the list of devices is empty");
    HALYARD_ASSIGN_OR_RETURN(auto list, api::readDevices(devices, numDevices));
    HALYARD_ASSIGN_OR_RETURN(auto impl,
                             runtime::Compilation::create(model->impl, std::move(list), true));
    *compilation = new ANeuralNetworksCompilation{std::move(impl)};
    return okStatus();
  });
}

void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::TERMINATION, __func__);
  api::freeObject(compilation);
}

int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation* compilation,
                                             int32_t preference) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    return compilation->impl->setPreference(preference);
  });
}

int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation* compilation,
                                          const char* cacheDir, const uint8_t* token) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    HALYARD_RETURN_IF_NULL(cacheDir);
    HALYARD_RETURN_IF_NULL(token);
    hal::Token copied{};
    std::copy(token, token + copied.size(), copied.begin());
    return compilation->impl->setCaching(cacheDir, copied);
  });
}

int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    return compilation->impl->setPriority(priority);
  });
}

int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation* compilation,
                                          uint64_t duration) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    return compilation->impl->setTimeout(duration);
  });
}

int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    return compilation->impl->finish();
  });
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    HALYARD_RETURN_IF_NULL(alignment);
    return api::preferred(compilation, index, true, true, alignment);
  });
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    HALYARD_RETURN_IF_NULL(padding);
    return api::preferred(compilation, index, true, false, padding);
  });
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    HALYARD_RETURN_IF_NULL(alignment);
    return api::preferred(compilation, index, false, true, alignment);
  });
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    HALYARD_RETURN_IF_NULL(padding);
    return api::preferred(compilation, index, false, false, padding);
  });
}

int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation* compilation,
                                                     const char* extensionName,
                                                     uint16_t attributeCodeWithinExtension,
                                                     const void* data, size_t length) {
  return entryPoint(__func__, trace::Phase::COMPILATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    HALYARD_RETURN_IF_NULL(extensionName);
    if (data == nullptr && length != 0) return unexpectedNull("data is null, length {}", length);
    return compilation->impl->addExtensionAttribute(extensionName, attributeCodeWithinExtension,
                                                    data, length);
  });
}
