// An application for driver_process_test: prints the process id of the reference driver and ends
// without releasing any object.
#include <android/NeuralNetworks.h>
#include <halyard/halyard.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  ANeuralNetworksDevice* device = NULL;
  int64_t pid = 0;
  if (ANeuralNetworks_getDevice(0, &device) != ANEURALNETWORKS_NO_ERROR ||
      halyard_deviceProcessId(device, &pid) != ANEURALNETWORKS_NO_ERROR) {
    return 1;
  }
  printf("%lld\n", (long long)pid);
  fflush(stdout);
  _exit(0);
}
