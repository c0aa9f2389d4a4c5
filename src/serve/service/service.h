// Service: the server without its protocols. HTTP, gRPC and the page ask it.
// Thread safety: any thread.
// Ownership: owns the repository and the regions. It borrows requests until it has answered them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/repository/repository.h"
#include "serve/service/regions.h"

namespace halyard::serve {

class Service {
 public:
  Service(ModelFolder folder, Repository::Options options, bool sharedMemory);

  Repository& repository() { return repository_; }
  const Repository& repository() const { return repository_; }
  Regions& regions() { return regions_; }

  static std::string name() { return "halyard"; }
  static std::string version();
  // The extensions of the protocol that this server has.
  std::vector<std::string> extensions() const;

  // Whether requests are welcome: after the start, and before the end.
  bool isReady() const { return ready_; }
  void setReady(bool ready) { ready_ = ready; }

  // Computes a request. `done` is called exactly once, perhaps before this function returns.
  // `request` must live until then; its inputs in regions get their bytes here, after the model has
  // validated it. `done` must not throw. If this function throws, it has not called `done`.
  void infer(InferRequest& request, Clock::time_point arrival, AnswerFunction done);

  // Is not ready any more, refuses further requests and waits until all others are answered.
  void stop();
  uint64_t inFlight() const;

 private:
  // Counts a request in flight until its last copy ends. Empty after stop().
  using InFlight = std::shared_ptr<void>;
  InFlight begin();
  Outcome readInputs(ServedModel& model, InferRequest& request, Clock::time_point arrival) const;

  Repository repository_;
  Regions regions_;
  std::atomic<bool> ready_ = false;
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  uint64_t inFlight_ = 0;
  bool stopped_ = false;
};

}  // namespace halyard::serve
