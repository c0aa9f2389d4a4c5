#include "api/caching.h"

#include <algorithm>
#include <span>

#include "api/objects.h"

namespace halyard::api {

Status useCacheFiles(ANeuralNetworksCompilation* compilation, const int* modelCache,
                     uint32_t modelCacheCount, const int* dataCache, uint32_t dataCacheCount,
                     const uint8_t* token) {
  HALYARD_RETURN_IF_NULL(compilation);
  HALYARD_RETURN_IF_NULL(token);
  if (modelCacheCount != 0) HALYARD_RETURN_IF_NULL(modelCache);
  if (dataCacheCount != 0) HALYARD_RETURN_IF_NULL(dataCache);
  hal::Token copied{};
  std::copy(token, token + copied.size(), copied.begin());
  return compilation->impl->setCachingFromFds(std::span(modelCache, modelCacheCount),
                                              std::span(dataCache, dataCacheCount), copied);
}

int setCachingFromFds(ANeuralNetworksCompilation* compilation, const int* modelCache,
                      uint32_t modelCacheCount, const int* dataCache, uint32_t dataCacheCount,
                      const uint8_t* token) {
  return entryPoint("halyard_compilationSetCachingFromFds", [&] {
    return useCacheFiles(compilation, modelCache, modelCacheCount, dataCache, dataCacheCount,
                         token);
  });
}

int deviceCacheFiles(const ANeuralNetworksDevice* device, uint32_t* modelCacheCount,
                     uint32_t* dataCacheCount) {
  const runtime::Device* const found = deviceManager().find(device);
  if (found == nullptr) return ANEURALNETWORKS_BAD_DATA;
  *modelCacheCount = found->info().modelCacheFiles;
  *dataCacheCount = found->info().dataCacheFiles;
  return ANEURALNETWORKS_NO_ERROR;
}

}  // namespace halyard::api
