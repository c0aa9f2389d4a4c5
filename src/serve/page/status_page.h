// The page at /: the models, the devices, latencies, queues, and why work went to another device.
// Thread safety: any thread. Ownership: the result owns its text.
#pragma once

#include <string>

#include "serve/service/service.h"

namespace halyard::serve {

// A whole HTML page without scripts.
std::string statusPage(const Service& service);

}  // namespace halyard::serve
