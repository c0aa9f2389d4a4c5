// The caching functions of libhalyard.so and of the support library, in addition to those of NNAPI.
// Thread safety: that of the API's functions for compilations and devices. Ownership: descriptors
// belong to the caller.
#pragma once

#include <android/NeuralNetworksTypes.h>

#include <cstdint>

#include "halyard/driver/status.h"

namespace halyard::api {

// Checks the pointers, and sets files of the application as the cache of the compilation.
Status useCacheFiles(ANeuralNetworksCompilation* compilation, const int* modelCache,
                     uint32_t modelCacheCount, const int* dataCache, uint32_t dataCacheCount,
                     const uint8_t* token);

// Implements halyard_compilationSetCachingFromFds. It is an API call, so its error has a text.
int setCachingFromFds(ANeuralNetworksCompilation* compilation, const int* modelCache,
                      uint32_t modelCacheCount, const int* dataCache, uint32_t dataCacheCount,
                      const uint8_t* token);

// Implements halyard_deviceCacheFiles. BAD_DATA for an unknown device. The pointers must not be
// null.
int deviceCacheFiles(const ANeuralNetworksDevice* device, uint32_t* modelCacheCount,
                     uint32_t* dataCacheCount);

}  // namespace halyard::api
