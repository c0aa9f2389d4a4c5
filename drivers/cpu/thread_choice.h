// ThreadChoice: in which manner the executions of one model are fastest: with divided loops or in
// one thread, and how memory is read, found out by trying. Thread safety: all methods may be called
// from any thread. Ownership: plain data.
//
// Whether two threads are faster than one in loops of microseconds depends on what nobody knows
// before: how far the processors are apart at the moment, on how many of them the client waits for
// the answer. So now and then a few executions do the other thing. What is compared includes the
// time until the client's next request, if that comes soon, for it may wait for a processor, too.
// Long executions are always divided, but try kernels that read memory in order
// (KernelOperands::inOrder), which are faster where processors are far apart.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace halyard::cpudriver {

class ThreadChoice {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // Executions between two trials at first, and at most as long as trials cost little.
  static constexpr int kShortestInterval = 16;
  static constexpr int kUsualInterval = 256;
  static constexpr int kLongestInterval = 1024;
  // Of a trial, those that do not count since they find another's data in their caches, and those
  // that do.
  static constexpr int kSettling = 2;
  static constexpr int kSamples = 5;
  // Trials may take this share of all time, above what the executions take anyway.
  static constexpr int kShareOfTime = 200;  // 1 in 200
  // Longer executions are always divided, but may prefer order.
  static constexpr std::chrono::milliseconds kLongest{2};
  // A request that comes later is none for which the client has waited.
  static constexpr std::chrono::microseconds kSoon{100};

  enum class Manner : uint8_t { DIVIDED, IN_ORDER, ALONE };  // IN_ORDER: divided, too

  // Before all executions: whether IN_ORDER is anything else than DIVIDED.
  void setKnowsOrder(bool knowsOrder) { knowsOrder_ = knowsOrder; }
  // Before an execution: how it is to be computed.
  Manner begin(TimePoint now);
  // After it. Unless `counts` it says nothing about the model.
  void end(TimePoint now, bool counts);

 private:
  using Samples = std::array<Duration, kSamples>;

  // With the lock.
  void note(Duration time);
  // Whether there is anything to be tried; sets what.
  bool beginTrial();
  void decide();
  static Duration median(Samples samples);

  std::mutex mutex_;
  bool knowsOrder_ = false;
  Manner best_ = Manner::DIVIDED;  // as far as is known
  Manner other_ = Manner::ALONE;   // what is tried
  bool tries_ = false;
  int left_ = kShortestInterval;
  int interval_ = kShortestInterval;
  size_t noted_ = 0;  // of the samples of what is better
  Samples usual_{};   // the last ones
  Samples tried_{};
  unsigned running_ = 0;
  bool counts_ = false;  // the last execution, which ran by itself
  TimePoint began_;
  TimePoint ended_;
};

}  // namespace halyard::cpudriver
