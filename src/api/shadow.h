// What libhalyard.so offers for shadow verification.
// Thread safety: as the API's functions for compilations. Ownership: none.
#pragma once

#include <android/NeuralNetworksTypes.h>

#include <cstdint>

namespace halyard::api {

// As halyard_compilationSetShadow. An API call: its error has a text.
int setShadow(ANeuralNetworksCompilation* compilation, uint32_t interval);

}  // namespace halyard::api
