// Shows the effects of the environment on a program. It prints the names of its devices, the report
// of a compilation on the first one, and the library's log.
#include <android/NeuralNetworks.h>
#include <halyard/halyard.h>
#include <sys/auxv.h>

#include <cstdio>

#include "lifetime/adder.h"

int main() {
  std::printf("elevated: %d\n", static_cast<int>(::getauxval(AT_SECURE)));
  for (const std::string& device : halyard::lifetime::allDevices()) {
    std::printf("device: %s\n", device.c_str());
  }
  halyard::lifetime::Adder adder;
  const std::string error = adder.make("nnapi-reference");
  std::printf("made: %s\n", error.c_str());
  if (!error.empty()) return 0;
  char* report = nullptr;
  halyard_compilationReport(adder.compilation, &report);
  std::printf("report: %s\n", report);
  halyard_free(report);
  return 0;
}
