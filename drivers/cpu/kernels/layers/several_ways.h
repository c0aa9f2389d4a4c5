// A kernel that is several, one for each way. Thread safety: as Kernel. Ownership: owns them.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel.h"

namespace halyard::cpudriver {

// Kernels for the same site; the first one's first way is the usual one. Each may have ways itself.
class SeveralWays final : public Kernel {
 public:
  struct Alternative {
    std::string_view name;  // of its first way
    std::unique_ptr<Kernel> kernel;
  };

  explicit SeveralWays(std::vector<Alternative> alternatives)
      : alternatives_(std::move(alternatives)) {}

  Status run(const KernelOperands& operands, ops::KernelServices& services) const override {
    return alternatives_[chosen_].kernel->run(operands, services);
  }
  bool knowsOrder() const override { return alternatives_[chosen_].kernel->knowsOrder(); }
  bool readsConstants() const override {
    for (const Alternative& each : alternatives_) {
      if (each.kernel->readsConstants()) return true;
    }
    return false;
  }
  size_t ways() const override {
    size_t sum = 0;
    for (const Alternative& each : alternatives_) sum += each.kernel->ways();
    return sum;
  }
  std::string_view wayName(size_t way) const override {
    const size_t at = find(&way);
    return way == 0 ? alternatives_[at].name : alternatives_[at].kernel->wayName(way);
  }
  void chooseWay(size_t way) override {
    chosen_ = find(&way);
    alternatives_[chosen_].kernel->chooseWay(way);
  }

 private:
  // Whose way it is; `way` becomes that kernel's own number of it.
  size_t find(size_t* way) const {
    size_t at = 0;
    while (*way >= alternatives_[at].kernel->ways()) *way -= alternatives_[at++].kernel->ways();
    return at;
  }

  const std::vector<Alternative> alternatives_;
  size_t chosen_ = 0;
};

}  // namespace halyard::cpudriver
