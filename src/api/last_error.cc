// Error texts per thread, and the table for libhalyard.so.
#include "api/last_error.h"
#include "api/caching.h"

#include <cstring>
#include <string>

#include "api/implementation.h"
#include "api/objects.h"
#include "api/shadow.h"
#include "api/trace.h"
#include "runtime/report_json.h"

namespace halyard::api {
namespace {

// Of the thread's last call. All of a call that succeeds is a look at the code: it is there without
// a constructor, as the text is not.
thread_local int lastCode = ANEURALNETWORKS_NO_ERROR;

std::string& lastText() {
  thread_local std::string text;
  return text;
}

const char* lastErrorText() {
  return lastCode == ANEURALNETWORKS_NO_ERROR ? "" : lastText().c_str();
}
int lastErrorCode() { return lastCode; }

int deviceProcessId(const ANeuralNetworksDevice* device, int64_t* pid) {
  const runtime::Device* found = deviceManager().find(device);
  if (found == nullptr) return ANEURALNETWORKS_BAD_DATA;
  *pid = found->hal().processId();
  return ANEURALNETWORKS_NO_ERROR;
}

int devicesJson(char** json) {
  *json = ::strdup(deviceManager().json().c_str());
  return *json ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUT_OF_MEMORY;
}

int compilationReport(const ANeuralNetworksCompilation* compilation, char** json) {
  *json = ::strdup(runtime::reportJson(*compilation->impl->report()).c_str());
  return *json ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUT_OF_MEMORY;
}

}  // namespace

void registerImplementation() {
  static const halyard_Implementation table = {sizeof(halyard_Implementation),
                                               lastErrorText,
                                               lastErrorCode,
                                               deviceProcessId,
                                               devicesJson,
                                               compilationReport,
                                               deviceCacheFiles,
                                               setCachingFromFds,
                                               traceStart,
                                               traceStop,
                                               traceJson,
                                               compilationProfile,
                                               traceBegin,
                                               traceEnd,
                                               setShadow};
  [[maybe_unused]] static const bool kRegistered =
      (halyard_private_registerImplementation(&table), true);
}

int setLastError(const char* function, const Status& status) {
  registerImplementation();
  lastCode = static_cast<int>(status.code());
  if (!status.ok()) lastText() = fmt::format("{}: {}", function, status.message());
  return lastCode;
}

}  // namespace halyard::api
