// Misuses of the functions of events and bursts.
#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

std::vector<Misuse> rows() {
  const auto fromFd = [](World& w, int fd) {
    return ANeuralNetworksEvent_createFromSyncFenceFd(fd, w.out<ANeuralNetworksEvent>());
  };
  const auto noEvent = [](World& w) { w.expectOutIsNull(); };
  const auto noFd = [](World& w) { ROW_EQ(w.signedNumber, -1); };
  const auto burst = [](World& w, ANeuralNetworksCompilation* compilation) {
    return ANeuralNetworksBurst_create(compilation, w.out<ANeuralNetworksBurst>());
  };
  return {
      {"Event_wait_NullEvent", kUnexpectedNull, "event is null",
       [](World&) { return ANeuralNetworksEvent_wait(nullptr); }},
      {"Event_wait_FenceThatFailed", kOpFailed, "error state",
       [](World& w) { return ANeuralNetworksEvent_wait(w.failedEvent()); }},
      {"Event_wait_FenceThatFailedAgain", kOpFailed, "error state",
       [](World& w) {
         ANeuralNetworksEvent* const event = w.failedEvent();
         ROW_EQ(ANeuralNetworksEvent_wait(event), kOpFailed);
         return ANeuralNetworksEvent_wait(event);
       }},
      // Only the computation finds this error, so the event reports it, and not the start.
      {"Event_wait_OutputTooSmall", ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE, "output 0",
       [](World& w) {
         ANeuralNetworksEvent* event = nullptr;
         ROW_OK(ANeuralNetworksExecution_startCompute(w.tooSmall(), &event));
         return ANeuralNetworksEvent_wait(w.keep(client::Event(event)));
       },
       nullptr, kDriversText},
      {"Event_createFromSyncFenceFd_NullResult", kUnexpectedNull, "event is null",
       [](World&) { return ANeuralNetworksEvent_createFromSyncFenceFd(-1, nullptr); }},
      {"Event_createFromSyncFenceFd_DescriptorMinusOne", kBadData, "file descriptor -1",
       [=](World& w) { return fromFd(w, -1); }, noEvent},
      {"Event_createFromSyncFenceFd_DescriptorZero", kBadData, "file descriptor 0",
       [=](World& w) { return fromFd(w, 0); }, noEvent},
      {"Event_createFromSyncFenceFd_ClosedDescriptor", kBadData, "99999",
       [=](World& w) { return fromFd(w, 99999); }, noEvent},
      {"Event_getSyncFenceFd_NullResult", kUnexpectedNull, "sync_fence_fd is null",
       [](World& w) { return ANeuralNetworksEvent_getSyncFenceFd(w.plainEvent(), nullptr); }},
      {"Event_getSyncFenceFd_NullEvent", kUnexpectedNull, "event is null",
       [](World& w) { return ANeuralNetworksEvent_getSyncFenceFd(nullptr, &w.signedNumber); },
       noFd},
      {"Event_getSyncFenceFd_EventWithoutAFence", kBadData, "has no sync fence",
       [](World& w) {
         return ANeuralNetworksEvent_getSyncFenceFd(w.plainEvent(), &w.signedNumber);
       },
       noFd},

      {"Burst_create_NullCompilation", kUnexpectedNull, "compilation is null",
       [=](World& w) { return burst(w, nullptr); }},
      {"Burst_create_NullResult", kUnexpectedNull, "burst is null",
       [](World& w) { return ANeuralNetworksBurst_create(w.compiled(), nullptr); }},
      {"Burst_create_UnfinishedCompilation", kBadState, "the compilation is not finished",
       [=](World& w) { return burst(w, w.compilation()); }, noEvent},
      {"Burst_create_FailedCompilation", kBadState, "the compilation failed to finish",
       [=](World& w) { return burst(w, w.failedCompilation()); }, noEvent},
  };
}

}  // namespace

std::vector<Misuse> eventAndBurstMisuses() { return rows(); }

}  // namespace halyard::misuse
