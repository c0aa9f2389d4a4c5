// libhalyard.so: passes the functions of halyard/halyard.h on to libneuralnetworks.so.
#include <android/NeuralNetworks.h>
#include <halyard/halyard.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "api/implementation.h"

// The symbol is weak. An application may link libhalyard.so only, and load libneuralnetworks.so
// itself or not at all.
#pragma weak ANeuralNetworks_getRuntimeFeatureLevel

namespace {

std::atomic<const halyard_Implementation*> gImplementation{nullptr};

// nullptr when libneuralnetworks.so is not loaded.
const halyard_Implementation* implementation() {
  const halyard_Implementation* found = gImplementation.load(std::memory_order_acquire);
  // Each call into libneuralnetworks.so registers its table.
  if (found == nullptr && &ANeuralNetworks_getRuntimeFeatureLevel != nullptr) {
    ANeuralNetworks_getRuntimeFeatureLevel();
    found = gImplementation.load(std::memory_order_acquire);
  }
  return found;
}

}  // namespace

void halyard_private_registerImplementation(const halyard_Implementation* implementation) {
  gImplementation.store(implementation, std::memory_order_release);
}

const char* halyard_lastErrorText(void) {
  const halyard_Implementation* found = implementation();
  return found ? found->lastErrorText() : "";
}

int halyard_lastErrorCode(void) {
  const halyard_Implementation* found = implementation();
  return found ? found->lastErrorCode() : ANEURALNETWORKS_NO_ERROR;
}

const char* halyard_version(void) { return HALYARD_VERSION; }

int halyard_deviceProcessId(const ANeuralNetworksDevice* device, int64_t* pid) {
  if (device == nullptr || pid == nullptr) return ANEURALNETWORKS_UNEXPECTED_NULL;
  const halyard_Implementation* found = implementation();
  return found ? found->deviceProcessId(device, pid) : ANEURALNETWORKS_BAD_STATE;
}

int halyard_devicesJson(char** json) {
  if (json == nullptr) return ANEURALNETWORKS_UNEXPECTED_NULL;
  *json = nullptr;
  const halyard_Implementation* found = implementation();
  return found ? found->devicesJson(json) : ANEURALNETWORKS_BAD_STATE;
}

int halyard_compilationReport(const ANeuralNetworksCompilation* compilation, char** json) {
  if (json != nullptr) *json = nullptr;
  if (compilation == nullptr || json == nullptr) return ANEURALNETWORKS_UNEXPECTED_NULL;
  const halyard_Implementation* found = implementation();
  constexpr size_t kNeeded = offsetof(halyard_Implementation, compilationReport) + sizeof(void*);
  if (found == nullptr || found->size < kNeeded) return ANEURALNETWORKS_BAD_STATE;
  return found->compilationReport(compilation, json);
}

int halyard_deviceCacheFiles(const ANeuralNetworksDevice* device, uint32_t* modelCacheCount,
                             uint32_t* dataCacheCount) {
  if (device == nullptr || modelCacheCount == nullptr || dataCacheCount == nullptr) {
    return ANEURALNETWORKS_UNEXPECTED_NULL;
  }
  const halyard_Implementation* found = implementation();
  constexpr size_t kNeeded = offsetof(halyard_Implementation, deviceCacheFiles) + sizeof(void*);
  if (found == nullptr || found->size < kNeeded) return ANEURALNETWORKS_BAD_STATE;
  return found->deviceCacheFiles(device, modelCacheCount, dataCacheCount);
}

int halyard_compilationSetCachingFromFds(ANeuralNetworksCompilation* compilation,
                                         const int* modelCache, uint32_t modelCacheCount,
                                         const int* dataCache, uint32_t dataCacheCount,
                                         const uint8_t* token) {
  const halyard_Implementation* found = implementation();
  constexpr size_t kNeeded = offsetof(halyard_Implementation, setCachingFromFds) + sizeof(void*);
  if (found == nullptr || found->size < kNeeded) return ANEURALNETWORKS_BAD_STATE;
  return found->setCachingFromFds(compilation, modelCache, modelCacheCount, dataCache,
                                  dataCacheCount, token);
}

namespace {

// The function from the table. Null when the library is not loaded, or is older than the function.
template <typename Function>
Function newer(Function halyard_Implementation::*member, size_t offset) {
  const halyard_Implementation* found = implementation();
  if (found == nullptr || found->size < offset + sizeof(void*)) return nullptr;
  return found->*member;
}

}  // namespace

#define HALYARD_NEWER(member) \
  newer(&halyard_Implementation::member, offsetof(halyard_Implementation, member))

int halyard_traceStart(uint32_t slices) {
  const auto function = HALYARD_NEWER(traceStart);
  return function ? function(slices) : ANEURALNETWORKS_BAD_STATE;
}

int halyard_traceStop(void) {
  const auto function = HALYARD_NEWER(traceStop);
  return function ? function() : ANEURALNETWORKS_BAD_STATE;
}

int halyard_traceJson(char** json) {
  if (json == nullptr) return ANEURALNETWORKS_UNEXPECTED_NULL;
  *json = nullptr;
  const auto function = HALYARD_NEWER(traceJson);
  return function ? function(json) : ANEURALNETWORKS_BAD_STATE;
}

int halyard_compilationProfile(const ANeuralNetworksCompilation* compilation, char** json) {
  if (json != nullptr) *json = nullptr;
  if (compilation == nullptr || json == nullptr) return ANEURALNETWORKS_UNEXPECTED_NULL;
  const auto function = HALYARD_NEWER(compilationProfile);
  return function ? function(compilation, json) : ANEURALNETWORKS_BAD_STATE;
}

void halyard_traceBegin(int32_t phase, const char* text) {
  if (const auto function = HALYARD_NEWER(traceBegin)) function(phase, text);
}

void halyard_traceEnd(void) {
  if (const auto function = HALYARD_NEWER(traceEnd)) function();
}

int halyard_compilationSetShadow(ANeuralNetworksCompilation* compilation, uint32_t interval) {
  const auto function = HALYARD_NEWER(setShadow);
  return function ? function(compilation, interval) : ANEURALNETWORKS_BAD_STATE;
}

void halyard_free(void* p) { std::free(p); }
