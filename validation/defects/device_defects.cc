// Drivers that claim, keep, leak or forget the wrong things, or fail where no client expects it.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "ops/operation.h"
#include "validation/defects/defect.h"

namespace halyard::defects {
namespace {

using namespace std::chrono_literals;

// Leaks memory. It stays reachable, so that no sanitizer ends the driver.
void leak(size_t bytes) {
  static std::mutex mutex;
  static std::list<std::vector<uint8_t>> kept;
  const std::lock_guard lock(mutex);
  kept.emplace_back(bytes, 1);
}

// Whether inputs are left out that the operation's only form may have.
bool hasLeftOut(const Operation& operation) {
  const ops::OperationDefinition* const definition = ops::definitionOf(operation.type);
  if (definition == nullptr || definition->signature.forms.size() != 1) return false;
  const ops::Form& form = definition->signature.forms[0];
  return !form.counts.empty() && operation.inputs.size() < form.inputs.size();
}

constexpr CacheFlaws kNoTokenCheck = {.checksToken = false};
constexpr CacheFlaws kNoContentCheck = {.checksContent = false};
constexpr CacheFlaws kNoLengthCheck = {.checksLength = false};
constexpr CacheFlaws kNoRewinding = {.rewinds = false};
constexpr CacheFlaws kNoTolerance = {.toleratesBadFiles = false};
constexpr CacheFlaws kReadsTwice = {.readsOnce = false};
constexpr CacheFlaws kNeverLoads = {.loads = false};

constexpr MemoryFlaws kTakesNoCopies = {.takesCopies = false};
constexpr MemoryFlaws kGivesOldCopies = {.givesCopies = false};
constexpr MemoryFlaws kOneMemory = {.isSeparate = false};
constexpr MemoryFlaws kEndsWithModel = {.outlivesModel = false};
constexpr std::string_view kOwnMemory = R"({"own_memory": {}})";

const Defect kDeviceDefects[] = {
    {.name = "memory-ignores-copies",
     .what = "has memory of its own, and ignores copies into a buffer",
     .check = "hal/memory/copies",
     .personality = kOwnMemory,
     .memory = &kTakesNoCopies},
    {.name = "memory-gives-old-copies",
     .what = "has memory of its own, and copies out what a buffer held at first",
     .check = "hal/memory/copies",
     .personality = kOwnMemory,
     .memory = &kGivesOldCopies},
    {.name = "memory-is-shared",
     .what = "has memory of its own, and puts all buffers into the same",
     .check = "hal/memory/executions",
     .personality = kOwnMemory,
     .memory = &kOneMemory},
    {.name = "memory-ends-with-model",
     .what = "has memory of its own, and loses the contents of a buffer with its prepared model",
     .check = "hal/memory/either_order",
     .personality = kOwnMemory,
     .memory = &kEndsWithModel},
    {.name = "claims-too-much",
     .what = "says that it supports SOFTMAX, and refuses to prepare it",
     .check = "hal/promise/softmax",
     .personality = R"({"supports": {"not_operations": ["SOFTMAX"]}})",
     .supported = [](const Model&,
                     hal::SupportedOperations& answers) { answers.assign(answers.size(), true); }},
    {.name = "longest-forms-only",
     .what = "takes operations with all inputs that they may have, and not without",
     .check = "hal/default_inputs/BATCH_TO_SPACE_ND",
     .supported =
         [](const Model& model, hal::SupportedOperations& answers) {
           for (size_t i = 0; i < answers.size(); ++i) {
             if (hasLeftOut(model.main.operations[i])) answers[i] = false;
           }
         }},
    {.name = "answers-too-few",
     .what = "answers for all operations but the last",
     .check = "hal/model/V2_bool@1.3",
     .supported = [](const Model&, hal::SupportedOperations& answers) { answers.pop_back(); }},
    {.name = "prepares-nothing",
     .what = "fails to prepare every third model that it has claimed",
     .check = "hal/prepare/deadlines",
     .personality = R"({"faults": [{"at": "prepare", "nth": 3, "do": "fail"}]})"},
    {.name = "crash-on-free",
     .what = "dies when a prepared model is released",
     .check = "hal/prepare/callback_once@1.1",
     .personality = R"({"faults": [{"at": "release", "do": "crash"}]})"},
    {.name = "abort-at-work",
     .what = "aborts in its fifth execution",
     .check = "hal/prepare/priorities_and_preferences",
     .personality = R"({"faults": [{"at": "execute", "nth": 5, "do": "abort"}]})"},
    {.name = "exit-at-work",
     .what = "ends its process in its fifth execution, as if all were well",
     .check = "hal/prepare/priorities_and_preferences",
     .personality = R"({"faults": [{"at": "execute", "nth": 5, "do": "exit", "exit_status": 0}]})"},
    {.name = "hang-at-work",
     .what = "never returns from its fifth execution",
     .check = "hal/prepare/priorities_and_preferences",
     .personality = R"({"faults": [{"at": "execute", "nth": 5, "times": 1, "do": "hang"}]})"},
    {.name = "exception-at-work",
     .what = "lets an exception out of its fifth execution",
     .check = "hal/prepare/priorities_and_preferences",
     .personality = R"({"faults": [{"at": "execute", "nth": 5, "do": "throw", "text": "oh"}]})"},
    {.name = "not-available",
     .what = "says that it is offline",
     .check = "hal/info/status@1.1",
     .personality = R"({"status": "offline"})"},
    {.name = "non-deterministic",
     .what = "every other time the last bit of a float result is another",
     .check = "hal/prepare/priorities_and_preferences",
     .computed =
         [](Computed& c) {
           if (c.number % 2 == 0 || c.outputs.empty() || c.outputBytes[0] < 4) return;
           const Subgraph& main = c.model.main;
           if (main.operands[main.outputIndexes[0]].type != OperandType::TENSOR_FLOAT32) return;
           static_cast<uint8_t*>(c.outputs[0].data)[0] ^= 1;
         }},
    {.name = "one-execution-at-a-time",
     .what = "damages results when two executions run at once",
     .check = "hal/prepare/from_several_threads@1.0",
     .computed =
         [](Computed& c) {
           // Enough time for another execution to start.
           std::this_thread::sleep_for(1ms);
           if (c.running > 1) invertOutputs(c);
         }},
    {.name = "one-model-at-a-time",
     .what = "damages the results of all models except the newest",
     .check = "hal/prepare/keeps_models_apart@1.0",
     .computed =
         [](Computed& c) {
           if (!c.isNewest) invertOutputs(c);
         }},
    {.name = "writes-beside",
     .what = "writes the byte behind each output",
     .check = "hal/prepare/priorities_and_preferences",
     .computed =
         [](Computed& c) {
           for (size_t o = 0; o < c.outputs.size(); ++o) {
             static_cast<uint8_t*>(c.outputs[o].data)[c.outputs[o].length] = 0x5a;
           }
         }},
    {.name = "writes-inputs",
     .what = "uses a large input as scratch memory",
     .check = "hal/lifecycle/leaves_no_executions",
     .computed =
         [](Computed& c) {
           for (const hal::MappedArgument& input : c.inputs) {
             // Small inputs are copies.
             if (input.data == nullptr || input.length < (1 << 16)) continue;
             static_cast<uint8_t*>(input.data)[0] ^= 1;
           }
         }},
    {.name = "late-results",
     .what = "says that it is done, and writes the outputs 3 ms later",
     .check = "hal/prepare/priorities_and_preferences",
     .computed =
         [](Computed& c) {
           for (size_t o = 0; o < c.outputs.size(); ++o) {
             auto* const to = static_cast<uint8_t*>(c.outputs[o].data);
             std::vector<uint8_t> bytes(to, to + c.outputBytes[o]);
             std::memset(to, 0, bytes.size());
             std::thread([to, bytes = std::move(bytes)] {
               std::this_thread::sleep_for(3ms);
               std::memcpy(to, bytes.data(), bytes.size());
             }).detach();
           }
         }},
    {.name = "ignored-loop-timeout",
     .what = "lets every WHILE run for 5 s",
     .check = "hal/execute/loop_timeout",
     .options =
         [](hal::ExecuteOptions& options) {
           if (options.loopTimeout) options.loopTimeout = 5s;
         }},
    {.name = "ignored-deadline",
     .what = "does not look at the deadline once it computes",
     .check = "hal/execute/deadline_is_kept",
     .options =
         [](hal::ExecuteOptions& options) {
           if (!options.deadline) return;
           options.deadline.reset();
           options.loopTimeout = 5s;
         }},
    {.name = "hang-on-cancel",
     .what = "finishes an execution for a client that has gone",
     .check = "hal/lifecycle/ends_in_the_middle",
     .options = [](hal::ExecuteOptions& options) { options.cancel = {}; },
     .atEnd = AtEnd::FINISH_WORK},
    {.name = "outlives-its-client",
     .what = "does not end when its client has gone",
     .check = "hal/lifecycle/ends_with_its_client",
     .atEnd = AtEnd::STAY},
    {.name = "leaked-model",
     .what = "keeps 1 MiB for each model that it prepares",
     .check = "hal/lifecycle/leaves_no_prepared_models",
     .prepared = [] { leak(1 << 20); }},
    {.name = "leaked-scratch",
     .what = "keeps 256 KiB for each execution",
     .check = "hal/lifecycle/leaves_no_executions",
     .computed = [](Computed&) { leak(256 << 10); }},
    {.name = "leaked-descriptor",
     .what = "keeps a file open for each model that it prepares",
     .check = "hal/lifecycle/leaves_no_prepared_models",
     .prepared = [] { (void)::memfd_create("forgotten", MFD_CLOEXEC); }},
    {.name = "changing-version",
     .what = "has another version string each time that it starts",
     .check = "hal/info/says_the_same_after_a_restart",
     .info = [](hal::DeviceInfo& info) { info.versionString += fmt::format(" {}", ::getpid()); }},
    {.name = "changing-figures",
     .what = "has other capabilities each time that it starts",
     .check = "hal/info/says_the_same_after_a_restart",
     .info =
         [](hal::DeviceInfo& info) {
           info.capabilities.ifPerformance.execTime = 1.0f + static_cast<float>(::getpid() % 1000);
         }},
    {.name = "many-models",
     .what = "dies when it has prepared more than 40 models",
     .check = "random-graphs/operation/*",
     .prepared =
         [] {
           static std::atomic<int> count = 0;
           if (++count > 40) std::abort();
         }},
    {.name = "cache-unchecked-token",
     .what = "loads a compilation for any token",
     .check = "hal/cache/wrong_token_float32@1.2",
     .cache = &kNoTokenCheck},
    {.name = "cache-unchecked-content",
     .what = "loads cache files that were changed",
     .check = "hal/cache/flipped_bits_float32@1.2",
     .cache = &kNoContentCheck},
    {.name = "cache-unchecked-length",
     .what = "loads cache files that are too long",
     .check = "hal/cache/appended_bytes_float32@1.2",
     .cache = &kNoLengthCheck},
    {.name = "cache-offset",
     .what = "begins to read and write cache files where they stand",
     .check = "hal/cache/non_zero_offset_float32@1.2",
     .cache = &kNoRewinding},
    {.name = "cache-fails-preparation",
     .what = "fails to prepare when it cannot write a cache file",
     .check = "hal/cache/wrong_numbers_float32@1.2",
     .cache = &kNoTolerance},
    {.name = "cache-read-twice",
     .what = "checks a cache file, and reads it again to use it",
     .check = "hal/cache/time_of_check_and_use_float32@1.3",
     .cache = &kReadsTwice},
    {.name = "cache-never-loads",
     .what = "saves compilations, and refuses them all",
     .check = "hal/cache/comes_back_float32@1.2",
     .cache = &kNeverLoads},
};

}  // namespace

void invertOutputs(Computed& c) {
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    auto* const bytes = static_cast<uint8_t*>(c.outputs[o].data);
    for (size_t i = 0; i < c.outputBytes[o]; ++i) bytes[i] = static_cast<uint8_t>(~bytes[i]);
  }
}

std::span<const Defect> deviceDefects() { return kDeviceDefects; }

}  // namespace halyard::defects
