// Entry points ANeuralNetworksBurst_*.
#include "api/objects.h"

using namespace halyard;  // NOLINT(google-build-using-namespace): entry points are global
using api::entryPoint;

int ANeuralNetworksBurst_create(ANeuralNetworksCompilation* compilation,
                                ANeuralNetworksBurst** burst) {
  return entryPoint(__func__, trace::Phase::PREPARATION, [&]() -> Status {
    HALYARD_RETURN_IF_NULL(compilation);
    HALYARD_RETURN_IF_NULL(burst);
    *burst = nullptr;
    HALYARD_RETURN_IF_ERROR(compilation->impl->checkValid());
    *burst = new ANeuralNetworksBurst{runtime::Burst(*compilation->impl)};
    return okStatus();
  });
}

void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::TERMINATION, __func__);
  api::freeObject(burst);
}
