// An application that ends while its threads compute.
//
//   exit_client HOW MILLISECONDS DEVICE...
//
// HOW: "return" from main, "exit" called by main, "thread": exit called by a thread while main
// computes. "fork": a child computes and exits first; the program prints the child's number. The
// exit status is 42; 3 reports a wrong result, 4 a failed call.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "lifetime/adder.h"

namespace {

using halyard::lifetime::Adder;

constexpr int kStatus = 42;

[[noreturn]] void fail(const std::string& error) {
  std::fprintf(stderr, "exit_client: %s\n", error.c_str());
  ::_exit(error.starts_with("wrong") ? 3 : 4);
}

// Objects with static storage that use the API during exit, after the main thread's own.
struct Late {
  ~Late() {
    if (adder.model == nullptr) return;
    if (const std::string error = adder.compute(Adder::Way::COMPUTE, 9); !error.empty())
      fail(error);
    if (ANeuralNetworksModel_finish(nullptr) == ANEURALNETWORKS_NO_ERROR) fail("no error");
    if (std::strlen(halyard_lastErrorText()) == 0) fail("an error without a text");
  }
  Adder adder;
};
Late late;

// Runs until the process ends.
[[noreturn]] void compute(const std::string& device) {
  Adder adder;
  std::string error = adder.make(device, 1000, 4);
  for (uint32_t seed = 0; error.empty(); ++seed) error = adder.computeInAllWays(seed);
  fail(device + ": " + error);
}

void forkOnce(const std::string& device) {
  const pid_t child = ::fork();
  if (child == 0) {
    Adder adder;
    std::string error = adder.make(device);
    if (error.empty()) error = adder.computeInAllWays(2);
    if (!error.empty()) fail("child: " + error);
    late.adder.forget();  // it belongs to the parent
    std::exit(kStatus);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != kStatus << 8) fail("its child has ended with status " + std::to_string(status));
  if (::write(1, &child, sizeof child) != sizeof child) fail("writing");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string how = argv[1];
  const std::chrono::milliseconds time(std::atoi(argv[2]));
  const std::vector<std::string> devices(argv + 3, argv + argc);
  if (const std::string error = late.adder.make(devices.front()); !error.empty()) fail(error);
  if (const std::string error = late.adder.computeInAllWays(1); !error.empty()) fail(error);
  if (how == "fork") {
    forkOnce(devices.front());
    late.adder.forget();
    return kStatus;
  }
  for (const std::string& device : devices) {
    for (int i = 0; i < 2; ++i) std::thread(compute, device).detach();
  }
  if (how == "thread") {
    std::thread([time] {
      std::this_thread::sleep_for(time);
      std::exit(kStatus);
    }).detach();
    compute(devices.front());
  }
  std::this_thread::sleep_for(time);
  if (how == "exit") std::exit(kStatus);
  return kStatus;
}
