// The function of libhalyard.so for shadow verification.
// Thread safety: that of the API's functions for compilations. Ownership: none.
#pragma once

#include <android/NeuralNetworksTypes.h>

#include <cstdint>

namespace halyard::api {

// Implements halyard_compilationSetShadow. It is an API call, so its error has a text.
int setShadow(ANeuralNetworksCompilation* compilation, uint32_t interval);

}  // namespace halyard::api
