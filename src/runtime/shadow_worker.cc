#include "runtime/shadow_worker.h"

#include <system_error>

#include "base/log.h"
#include "base/thread_class.h"
#include "cpu/cpu_device.h"

namespace halyard::runtime {

ShadowWorker& ShadowWorker::instance() {
  static ShadowWorker worker;
  return worker;
}

ShadowWorker::ShadowWorker() : cpu_(cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1)) {}

ShadowWorker::~ShadowWorker() = default;

ShadowWorker::Hurry::Hurry(ShadowWorker& worker) : worker_(worker) {
  const std::lock_guard lock(worker_.mutex_);
  ++worker_.hurried_;
  worker_.wake_.notify_all();
}

ShadowWorker::Hurry::~Hurry() {
  const std::lock_guard lock(worker_.mutex_);
  --worker_.hurried_;
}

bool ShadowWorker::post(Work work) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    } catch (const std::system_error& error) {
      logWarning("shadow verification has no thread: {}", error.what());
      return false;
    }
  }
  work_.push_back(std::move(work));
  wake_.notify_all();
  return true;
}

void ShadowWorker::run(const std::stop_token& stop) {
  enterThreadClass(ThreadClass::BACKGROUND);
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return !work_.empty(); })) {
    const Work work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    const std::chrono::nanoseconds pause = work(stop);
    lock.lock();
    (void)wake_.wait_for(lock, stop, pause, [this] { return hurried_ > 0; });
    if (stop.stop_requested()) break;
  }
  // Whoever waits for it is told that nothing has come of it.
  for (const Work& work : work_) (void)work(stop);
}

}  // namespace halyard::runtime
