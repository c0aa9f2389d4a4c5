// The function table that libneuralnetworks.so gives to libhalyard.so. With it,
// libneuralnetworks.so needs to export only NNAPI.
// Thread safety: the functions may be called from any thread. Ownership: static storage.
#pragma once

#include <android/NeuralNetworksTypes.h>

#include <cstdint>

extern "C" {

// New members are added only at the end. `size` is the size of the struct in the library that fills
// it.
struct halyard_Implementation {
  uint32_t size;
  const char* (*lastErrorText)();
  int (*lastErrorCode)();
  int (*deviceProcessId)(const ANeuralNetworksDevice* device, int64_t* pid);
  int (*devicesJson)(char** json);
  int (*compilationReport)(const ANeuralNetworksCompilation* compilation, char** json);
  int (*deviceCacheFiles)(const ANeuralNetworksDevice* device, uint32_t* modelCacheCount,
                          uint32_t* dataCacheCount);
  int (*setCachingFromFds)(ANeuralNetworksCompilation* compilation, const int* modelCache,
                           uint32_t modelCacheCount, const int* dataCache, uint32_t dataCacheCount,
                           const uint8_t* token);
  int (*traceStart)(uint32_t slices);
  int (*traceStop)();
  int (*traceJson)(char** json);
  int (*compilationProfile)(const ANeuralNetworksCompilation* compilation, char** json);
  void (*traceBegin)(int32_t phase, const char* text);
  void (*traceEnd)();
  int (*setShadow)(ANeuralNetworksCompilation* compilation, uint32_t interval);
};

__attribute__((visibility("default"))) void halyard_private_registerImplementation(
    const halyard_Implementation* implementation);
}
