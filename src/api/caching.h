// What libhalyard.so offers beside NNAPI's own way of caching.
// Thread safety: as the API's functions for compilations and devices. Ownership: descriptors are
// the caller's.
#pragma once

#include <android/NeuralNetworksTypes.h>

#include <cstdint>

namespace halyard::api {

// As halyard_compilationSetCachingFromFds. An API call: its error has a text.
int setCachingFromFds(ANeuralNetworksCompilation* compilation, const int* modelCache,
                      uint32_t modelCacheCount, const int* dataCache, uint32_t dataCacheCount,
                      const uint8_t* token);

// As halyard_deviceCacheFiles. UNEXPECTED_NULL, BAD_DATA for what is no device.
int deviceCacheFiles(const ANeuralNetworksDevice* device, uint32_t* modelCacheCount,
                     uint32_t* dataCacheCount);

}  // namespace halyard::api
