// The standard streams of a program that starts without them.
// Thread safety: call it at the start of main, before any other thread.
// Ownership: the process owns the descriptors.
#pragma once

namespace halyard {

// Opens each of the descriptors 0 to 2 that is closed. Otherwise a file or socket of the program
// takes the number, and messages for the user go there. A read from standard input, or a write to
// one of the others, stays an error (EBADF).
void openStandardStreams();

}  // namespace halyard
