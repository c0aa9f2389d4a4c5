// Traces as the functions of halyard/halyard.h and the environment ask for them.
// Thread safety: any thread; traceBegin and traceEnd act on the calling one. Ownership: strings are
// the caller's, to be released with free.
#pragma once

#include <android/NeuralNetworksTypes.h>

#include <cstdint>

namespace halyard::api {

// As halyard_traceStart and so on.
int traceStart(uint32_t slices);
int traceStop();
int traceJson(char** json);
int compilationProfile(const ANeuralNetworksCompilation* compilation, char** json);
void traceBegin(int32_t phase, const char* text);
void traceEnd();

// HALYARD_TRACE=FILE: begins a trace that is written there when the process exits.
void startTraceOfEnvironment();

}  // namespace halyard::api
