#include "validation/suites.h"

#include "validation/conformance/conformance_suite.h"
#include "validation/crash/crash_suite.h"
#include "validation/cts/api_suite.h"
#include "validation/hostile/hostile_suite.h"
#include "validation/models/models_suite.h"
#include "validation/random_graphs/random_graphs_suite.h"
#include "validation/vts/hal_suite.h"

namespace halyard::validation {
namespace {

constexpr Suite kSuites[] = {
    {"hal", "every method of every HAL version, straight against the driver", listHal},
    {"api", "as applications meet the driver, through the C API", listApi},
    {"conformance", "vectors with known results, in several ways each", listConformance},
    {"random-graphs", "random operations and graphs beside the CPU device", listRandomGraphs},
    {"models", "real models on real data: as accurate as on the CPU device, and how fast",
     listModels},
    {"hostile", "clients that send anything at all", listHostile},
    {"crash", "many clients, clients that die, random models, load", listCrash},
};

}  // namespace

std::span<const Suite> allSuites() { return kSuites; }

}  // namespace halyard::validation
