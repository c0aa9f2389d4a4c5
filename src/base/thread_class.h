// ThreadClass: how a thread competes for the processor with others.
// Thread safety: functions concern the calling thread. Ownership: none.
//
// A thread may always lower itself, and without privileges never rise again: work of each class
// needs threads of its own.
#pragma once

#include <cstdint>

namespace halyard {

enum class ThreadClass : uint8_t {
  // Runs when nobody else wants the processor, and a little all the same: beside a thread of
  // another class that computes all the time it has about a thirtieth of the processor. Gives way
  // at once.
  BACKGROUND,
  // As NORMAL, but takes the processor from nobody when it wakes: it waits for its turn.
  BATCH,
  NORMAL,
  // As NORMAL, but asks the scheduler to be let in soon when it wakes, where the kernel can (6.12).
  URGENT,
};

// Makes the calling thread one of the class, for good. Where the system refuses, the thread stays
// what it is: the class decides about speed, never about results.
void enterThreadClass(ThreadClass threadClass);
// What the calling thread has entered last; NORMAL if nothing.
ThreadClass currentThreadClass();

}  // namespace halyard
