// Traces that are requested by the functions of halyard/halyard.h or by the environment.
// Thread safety: any thread. traceBegin and traceEnd act on the calling thread.
// Ownership: strings belong to the caller, which releases them with free.
#pragma once

#include <android/NeuralNetworksTypes.h>

#include <cstdint>

namespace halyard::api {

// Implement halyard_traceStart and so on.
int traceStart(uint32_t slices);
int traceStop();
int traceJson(char** json);
int compilationProfile(const ANeuralNetworksCompilation* compilation, char** json);
void traceBegin(int32_t phase, const char* text);
void traceEnd();

// HALYARD_TRACE=FILE: starts a trace that is written to FILE when the process exits.
void startTraceOfEnvironment();

}  // namespace halyard::api
