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

bool ShadowWorker::post(std::function<void(std::stop_token)> work) {
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
  wake_.notify_one();
  return true;
}

void ShadowWorker::run(const std::stop_token& stop) {
  enterThreadClass(ThreadClass::BACKGROUND);
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return !work_.empty(); })) {
    const std::function<void(std::stop_token)> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work(stop);
    lock.lock();
    if (stop.stop_requested()) break;
  }
  // Whoever waits for it is told that nothing has come of it.
  for (const auto& work : work_) work(stop);
}

}  // namespace halyard::runtime
