// Error texts per thread, and the table for libhalyard.so.
#include "api/last_error.h"
#include "api/caching.h"

#include <cstring>
#include <mutex>
#include <string>

#include "api/implementation.h"
#include "api/objects.h"
#include "api/shadow.h"
#include "api/trace.h"
#include "runtime/report_json.h"

namespace halyard::api {
namespace {

struct LastError {
  int code = ANEURALNETWORKS_NO_ERROR;
  std::string text;
};

LastError& lastError() {
  thread_local LastError error;
  return error;
}

const char* lastErrorText() { return lastError().text.c_str(); }
int lastErrorCode() { return lastError().code; }

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
  static std::once_flag once;
  std::call_once(once, [] { halyard_private_registerImplementation(&table); });
}

int setLastError(const char* function, const Status& status) {
  registerImplementation();
  LastError& error = lastError();
  error.code = static_cast<int>(status.code());
  if (status.ok()) {
    error.text.clear();
  } else {
    error.text = fmt::format("{}: {}", function, status.message());
  }
  return error.code;
}

}  // namespace halyard::api
