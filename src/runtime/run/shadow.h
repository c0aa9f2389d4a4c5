// Shadow: shadow verification of one compilation (docs/shadow_verification.md).
// The CPU device repeats every N-th execution in the background, with copies of the inputs. Then
// the results are compared.
// Thread safety: all methods may be called from any thread.
// Ownership: shares model, plan and report. The devices must outlive it. The destructor waits for
// the verifications that have begun.
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
  // The value of HALYARD_SHADOW: N for "each N-th execution". 0 if it is not set or not a number.
  static uint32_t intervalOfEnvironment();

  // Null when `interval` is 0 or when there is nothing to verify. In the second case the report
  // contains the reason.
  static std::shared_ptr<Shadow> make(uint32_t interval, std::shared_ptr<const Plan> plan,
                                      const PlanContext& context);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // Counts an execution that begins. Returns whether it must be verified.
  bool isTurn() { return (turns_.fetch_add(1, std::memory_order_relaxed) + 1) % interval_ == 0; }

  // The values that one execution read and wrote.
  struct Sample {
    std::vector<ShadowValue> inputs;
    std::vector<ShadowValue> outputs;
  };
  // Copies the inputs of an execution that is about to run. The fences that it waits for must be
  // signalled. Null if there is no copy; the report then contains the reason, except for an invalid
  // request.
  std::shared_ptr<Sample> begin(const RunArguments& arguments);
  // Copies the outputs of the execution and starts its verification. `shapes` are the computed
  // output shapes.
  void end(std::shared_ptr<Sample> sample, const RunArguments& arguments,
           std::span<const hal::OutputShape> shapes);

  // Waits for all verifications that have begun.
  void wait();

 private:
  Shadow(uint32_t interval, std::shared_ptr<const Plan> plan, const PlanContext& context);

  void skip(const std::string& reason) const;
  void verify(const Sample& sample);
  // Computes the results on the CPU device. They have as many bytes as the outputs of the sample.
  Result<std::vector<ShadowValue>> compute(const Sample& sample);
  void condemn(const Sample& sample, const std::string& difference);

  const uint32_t interval_;
  const std::shared_ptr<const Plan> plan_;
  const ValidModel model_;
  const std::shared_ptr<Report> report_;
  std::vector<const Device*> tested_;  // compute steps of the plan; without the CPU device
  std::atomic<uint64_t> turns_ = 0;

  std::mutex mutex_;  // for the members below
  std::condition_variable idle_;
  unsigned pending_ = 0;
  std::shared_ptr<hal::PreparedModel> prepared_;  // on the CPU device; only the worker sets it
};

}  // namespace halyard::runtime
