// marksOf: which computations a piece of test code causes, by its trace.
// Thread safety: counts those of the calling thread. Ownership: none.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "trace/recorder.h"

namespace halyard::cpudriver::testing {

// Operations in a trace of this thread.
struct Marks {
  size_t steps = 0;          // of the CPU driver's models
  size_t stepsInBodies = 0;  // those outside of the main subgraph
  size_t executors = 0;      // run one by one by the executor
};

template <typename F>
Marks marksOf(const F& f) {
  auto created = trace::Recorder::create(4096);
  EXPECT_TRUE(created.ok()) << created.status().toString();
  const std::shared_ptr<trace::Recorder> recorder = std::move(*created);
  {
    const trace::ActiveRecorder active;
    const trace::RecorderUse use(recorder);
    f();
  }
  Marks marks;
  for (const trace::Record& record : recorder->records()) {
    if (record.phase != static_cast<uint8_t>(trace::Phase::COMPUTATION)) continue;
    const bool isStep = record.layer == static_cast<uint8_t>(trace::Layer::DRIVER);
    marks.steps += isStep ? 1 : 0;
    marks.stepsInBodies += isStep && record.subgraph != 0 ? 1 : 0;
    marks.executors += record.layer == static_cast<uint8_t>(trace::Layer::CPU) ? 1 : 0;
  }
  return marks;
}

}  // namespace halyard::cpudriver::testing
