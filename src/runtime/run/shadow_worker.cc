#include "runtime/run/shadow_worker.h"

#include <system_error>
#include <thread>

#include "base/log.h"
#include "base/process_generation.h"
#include "base/thread_class.h"
#include "cpu/cpu_device.h"

namespace halyard::runtime {

ShadowWorker& ShadowWorker::instance() {
  static constinit PerProcess<ShadowWorker> worker;
  return worker.get([] { return std::unique_ptr<ShadowWorker>(new ShadowWorker); });
}

ShadowWorker::ShadowWorker() : cpu_(cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1)) {}

ShadowWorker::WithoutPauses::WithoutPauses(ShadowWorker& worker) : worker_(worker) {
  const std::lock_guard lock(worker_.mutex_);
  ++worker_.hurried_;
  worker_.wake_.notify_all();
}

ShadowWorker::WithoutPauses::~WithoutPauses() {
  const std::lock_guard lock(worker_.mutex_);
  --worker_.hurried_;
}

bool ShadowWorker::post(Work work) {
  const std::lock_guard lock(mutex_);
  if (!isRunning_) {
    try {
      std::thread([this] { run(); }).detach();
      isRunning_ = true;
    } catch (const std::system_error& error) {
      logWarning("shadow verification has no thread: {}", error.what());
      return false;
    }
  }
  work_.push_back(std::move(work));
  wake_.notify_all();
  return true;
}

void ShadowWorker::run() {
  enterThreadClass(ThreadClass::BACKGROUND);
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return !work_.empty(); });
    Work work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    const std::chrono::nanoseconds pause = work();
    work = nullptr;  // destroys the objects that the work owns, without the lock
    lock.lock();
    (void)wake_.wait_for(lock, pause, [this] { return hurried_ > 0; });
  }
}

}  // namespace halyard::runtime
