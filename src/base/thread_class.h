// ThreadClass: how a thread competes with others for the processor.
// Thread safety: functions concern the calling thread.
// Ownership: none.
//
// A thread may always lower its own priority, but needs privileges to raise it again. Each class
// therefore needs threads of its own.
#pragma once

#include <cstdint>

namespace halyard {

enum class ThreadClass : uint8_t {
  // Runs mainly when no other thread wants the processor. Beside a thread of another class that
  // always computes, it gets about a thirtieth of the processor. Gives way at once.
  BACKGROUND,
  // As NORMAL, but never preempts another thread when it wakes: it waits for its turn.
  BATCH,
  NORMAL,
  // As NORMAL, but asks the scheduler for an early start when it wakes, if the kernel supports it
  // (6.12).
  URGENT,
};

// Puts the calling thread permanently in the class. If the system refuses, the thread keeps its
// class. The class affects speed, never results.
void enterThreadClass(ThreadClass threadClass);
// Returns the class that the calling thread entered last; NORMAL if it entered none.
ThreadClass currentThreadClass();

}  // namespace halyard
