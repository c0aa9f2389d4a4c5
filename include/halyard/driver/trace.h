// Marks in a trace: slices of time, named by layer and phase. A driver's process gives them to the
// client that traces it. Preparations, executions and operations of Halyard's CPU executor have
// marks already. A driver marks its own operations with Scope. Thread safety: all functions may be
// called from any thread; a Scope belongs to one thread. Ownership: a Scope borrows its text until
// it ends.
//
// Without a trace, a Scope is one relaxed load of an atomic variable. During a trace, it reads the
// clock twice and writes a record of 128 bytes in memory from the client. It takes no lock,
// allocates nothing, and makes no system call except a thread's first. docs/profiling.md has the
// rules of nesting.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "halyard/driver/export.h"

namespace halyard::trace {

enum class Layer : uint8_t { APPLICATION, RUNTIME, IPC, DRIVER, CPU, OTHER, UTILITY, IGNORED };

enum class Phase : uint8_t {
  OVERALL,
  WARMUP,
  BENCHMARK,
  INITIALIZATION,
  PREPARATION,
  COMPILATION,
  EXECUTION,
  TERMINATION,
  UNSPECIFIED,         // that of the enclosing slice
  INPUTS_AND_OUTPUTS,  // this and those below: parts of EXECUTION
  TRANSFORMATION,
  COMPUTATION,
  RESULTS,
};

enum class Variant : uint8_t {
  PLAIN,
  SWITCH,    // ended the slice before it in the same scope
  SUBTRACT,  // is no part of the layer and phase around it
};

// The number of recorders that record now.
HALYARD_EXPORT extern std::atomic<uint32_t> activeRecorders;
inline bool isActive() { return activeRecorders.load(std::memory_order_relaxed) != 0; }

// Further properties of a slice.
struct Details {
  int32_t operation = -1;  // its index in the model, or in `subgraph` of it
  uint32_t subgraph = 0;   // 0: the main one; n: Model::referenced[n - 1]
  uint64_t context = 0;    // which step of which compilation; 0: that of the slice around it
  uint32_t peer = 0;       // the connection to a driver that is waited for meanwhile
  bool openEnded = false;  // the driver may go on after the slice
  Variant variant = Variant::PLAIN;
};

// A slice of the calling thread's time, from construction to destruction.
class HALYARD_EXPORT Scope {
 public:
  // `text` is what the slice is about, such as a function's name; 71 bytes of it are kept.
  Scope(Layer layer, Phase phase, std::string_view text, const Details& details = {}) {
    if (isActive()) begin(layer, phase, text, details);
  }
  ~Scope() {
    if (begin_ != 0) end();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Ends the slice and begins another in its place, of the same layer.
  void switchTo(Phase phase, std::string_view text) {
    if (begin_ != 0) change(phase, text);
  }

 private:
  void begin(Layer layer, Phase phase, std::string_view text, const Details& details);
  void change(Phase phase, std::string_view text);
  void end();

  uint64_t begin_ = 0;  // ns of CLOCK_MONOTONIC; 0: no trace
  uint64_t outerContext_ = 0;
  std::string_view text_;
  Details details_;
  Layer layer_ = Layer::OTHER;
  Phase phase_ = Phase::UNSPECIFIED;
};

// An operation that a driver computes: `type` its name, such as "CONV_2D", `index` its place among
// the model's operations, by which `halyard profile` finds it.
class HALYARD_EXPORT OperationScope : public Scope {
 public:
  OperationScope(std::string_view type, uint32_t index)
      : Scope(Layer::DRIVER, Phase::COMPUTATION, type, {.operation = static_cast<int32_t>(index)}) {
  }
};

// For drivers that are libraries: has this copy of Halyard's code record in the application's
// memory, or with null no more. HALYARD_DRIVER_LIBRARY hands it to the runtime.
HALYARD_EXPORT void attachTrace(void* memory, size_t bytes);

}  // namespace halyard::trace
