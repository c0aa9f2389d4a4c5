// Drivers that fail only under load: many executions, many models, many clients.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "validation/defects/defect.h"

namespace halyard::defects {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kMany = 4;  // executions at once

// Waits for other executions, and returns whether many run at once.
bool isOneOfMany(const Computed& c) {
  std::this_thread::sleep_for(1ms);
  return c.running >= kMany;
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

std::mutex preparing;

const Defect kLoadDefects[] = {
    {.name = "crash-in-parallel",
     .what = "dies when four executions run at once",
     .check = "crash/parallel-inference-stress",
     .computed =
         [](Computed& c) {
           if (isOneOfMany(c)) std::abort();
         }},
    {.name = "deadlock-in-parallel",
     .what = "never returns from executions of which four run at once",
     .check = "crash/parallel-inference-stress",
     .computed =
         [](Computed& c) {
           if (isOneOfMany(c)) hang();
         }},
    {.name = "exception-in-parallel",
     .what = "fails when four executions run at once",
     .check = "crash/parallel-inference-stress-in-process",
     .computed =
         [](Computed& c) {
           if (isOneOfMany(c)) throw std::runtime_error("no more than three at once");
         }},
    {.name = "crash-after-a-hundred",
     .what = "dies in its hundredth execution",
     .check = "crash/resource-growth-stress",
     .personality = R"({"faults": [{"at": "execute", "nth": 100, "do": "crash"}]})"},
    {.name = "hang-after-a-hundred",
     .what = "never returns from its hundredth execution, nor from a later one",
     .check = "crash/resource-growth-stress",
     .computed =
         [](Computed& c) {
           if (c.number >= 100) hang();
         }},
    {.name = "models-run-out",
     .what = "prepares no more than twenty models",
     .check = "crash/parallel-inference-stress",
     .personality = R"({"faults": [{"at": "prepare", "nth": 21, "do": "fail"}]})"},
    {.name = "crash-after-releases",
     .what = "dies when it has released thirty models",
     .check = "crash/memory-mapped-model-load-stress",
     .personality = R"({"faults": [{"at": "release", "nth": 30, "do": "crash"}]})"},
    {.name = "crash-of-mapped-constants",
     .what = "dies of a model with constants in a file",
     .check = "crash/parallel-inference-stress-in-process",
     .model =
         [](Model& model) {
           if (!model.pools.empty()) std::abort();
         }},
    {.name = "memory-of-each-execution",
     .what = "keeps 256 KiB of each execution until its process ends",
     .check = "crash/resource-growth-stress",
     .computed =
         [](Computed&) {
           constexpr size_t kSize = 256 << 10;
           void* const kept = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
           (void)kept;
         }},
    {.name = "descriptor-of-each-execution",
     .what = "keeps a file open for each execution",
     .check = "crash/resource-growth-stress",
     .computed = [](Computed&) { (void)::memfd_create("forgotten", MFD_CLOEXEC); }},
    {.name = "slow-after-load",
     .what = "takes 25 ms more for each execution behind its two hundredth",
     .check = "crash/slowdown-stress",
     .computed =
         [](Computed& c) {
           if (c.number > 200) std::this_thread::sleep_for(25ms);
         }},
    {.name = "compiling-stops-executions",
     .what = "lets executions wait for 100 ms when it has prepared a model",
     .check = "crash/performance-degradation-stress",
     .computed = [](Computed&) { const std::lock_guard lock(preparing); },
     .prepared =
         [] {
           const std::lock_guard lock(preparing);
           std::this_thread::sleep_for(100ms);
         }},
    {.name = "thread-of-each-model",
     .what = "leaves a thread running for each model that it prepares",
     .check = "crash/resource-growth-stress",
     .prepared = [] { std::thread(hang).detach(); }},
};

}  // namespace

std::span<const Defect> loadDefects() { return kLoadDefects; }

}  // namespace halyard::defects
