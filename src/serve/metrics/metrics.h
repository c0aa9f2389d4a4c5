// The server's metrics in the text format of Prometheus.
// Thread safety: pure functions over a service that any thread may use.
// Ownership: results own their data.
#pragma once

#include <string>

#include "serve/service/service.h"

namespace halyard::serve {

// With `tritonNames`, the counters also have the names of Triton (nv_inference_...), which existing
// dashboards and autoscalers query.
std::string metricsText(const Service& service, bool tritonNames);

}  // namespace halyard::serve
