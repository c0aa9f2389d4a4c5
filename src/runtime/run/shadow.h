// Shadow: shadow verification of one compilation: every N-th execution is repeated on the CPU
// device in the background, from copies, and its results are compared. docs/shadow_verification.md.
// Thread safety: all methods may be called from any thread.
// Ownership: shares model, plan and report; the devices must outlive it. One that is destroyed
// waits for what it has begun.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "halyard/driver/device.h"
#include "runtime/report/report.h"
#include "runtime/run/plan_runner.h"
#include "runtime/run/shadow_blame.h"

namespace halyard::runtime {

class Shadow {
 public:
  // HALYARD_SHADOW: every how many executions; 0, too, when it is not set or no number.
  static uint32_t intervalOfEnvironment();

  // Null when `interval` is 0 or there is nothing to verify; the report says why.
  static std::shared_ptr<Shadow> make(uint32_t interval, std::shared_ptr<const Plan> plan,
                                      const PlanContext& context);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // Counts an execution that begins; whether it is to be verified.
  bool isTurn() { return (turns_.fetch_add(1, std::memory_order_relaxed) + 1) % interval_ == 0; }

  // What one execution has read and written.
  struct Sample {
    std::vector<ShadowValue> inputs;
    std::vector<ShadowValue> outputs;
  };
  // Copies the inputs of an execution that is about to run; null, and the report says why, when
  // they cannot be had. Its fences are over.
  std::shared_ptr<Sample> begin(const RunArguments& arguments);
  // Copies the outputs of the execution, which has been computed with these output shapes, and has
  // it verified.
  void end(std::shared_ptr<Sample> sample, const RunArguments& arguments,
           std::span<const hal::OutputShape> shapes);

  // Until all that has been begun has been verified.
  void wait();

 private:
  Shadow(uint32_t interval, std::shared_ptr<const Plan> plan, const PlanContext& context);

  void skip(const std::string& reason) const;
  void verify(const Sample& sample);
  // What the CPU device finds; as many bytes as the sample's outputs have.
  Result<std::vector<ShadowValue>> compute(const Sample& sample);
  void condemn(const Sample& sample, const std::string& difference);

  const uint32_t interval_;
  const std::shared_ptr<const Plan> plan_;
  const ValidModel model_;
  const std::shared_ptr<Report> report_;
  std::vector<const Device*> tested_;  // that compute something of the plan, but for the CPU device
  std::atomic<uint64_t> turns_ = 0;

  std::mutex mutex_;  // for what follows
  std::condition_variable idle_;
  unsigned pending_ = 0;
  std::shared_ptr<hal::PreparedModel> prepared_;  // on the CPU device; made by the worker only
};

}  // namespace halyard::runtime
