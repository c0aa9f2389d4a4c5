#include "api/shadow.h"

#include "api/objects.h"

namespace halyard::api {

int setShadow(ANeuralNetworksCompilation* compilation, uint32_t interval) {
  return entryPoint("halyard_compilationSetShadow", [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    return compilation->impl->setShadow(interval);
  });
}

}  // namespace halyard::api
