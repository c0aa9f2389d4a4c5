// SPDX-License-Identifier: Apache-2.0
//
// Halyard's own additions to NNAPI, as a C99 header. Library: libhalyard.so.
// Thread safety: every function may be called from any thread at any time.
// Ownership: each comment says who releases what.

#ifndef HALYARD_HALYARD_H_
#define HALYARD_HALYARD_H_

#include <stdint.h>

#include <android/NeuralNetworksTypes.h>

#ifdef __cplusplus
extern "C" {
#endif

// A library built with -fvisibility=hidden exports these all the same.
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/**
 * Why the last NNAPI call of the calling thread failed, in words: UTF-8, never NULL. Empty if that
 * call succeeded, or if the thread has made none.
 *
 * The string belongs to the library and is valid until the thread's next NNAPI call. The functions
 * of this header do not count as such: they leave the text as it is.
 */
const char* halyard_lastErrorText(void);

/**
 * The ResultCode of the last NNAPI call of the calling thread: what halyard_lastErrorText() is
 * about. ANEURALNETWORKS_NO_ERROR if that call succeeded, or if the thread has made none.
 */
int halyard_lastErrorCode(void);

/**
 * The version of Halyard, "MAJOR.MINOR.PATCH", e.g. "0.1.0". A constant of the library.
 */
const char* halyard_version(void);

/**
 * Writes to *pid the id of the process that the device's driver runs in: the caller's own for a
 * driver within this process, 0 while the driver's process is not running. The driver may die or be
 * started again at any time, so this is a snapshot.
 *
 * @return a ResultCode: UNEXPECTED_NULL if device or pid is NULL, else NO_ERROR.
 */
int halyard_deviceProcessId(const ANeuralNetworksDevice* device, int64_t* pid);

/**
 * Writes to *json what `halyard devices --json` prints: all devices that were found, and all driver
 * manifests that could not be used, each with the reason. UTF-8, ends in a NUL.
 *
 * @param json receives a string of the caller's, to be released with halyard_free; NULL on failure.
 * @return a ResultCode: UNEXPECTED_NULL if json is NULL; OUT_OF_MEMORY; else NO_ERROR.
 */
int halyard_devicesJson(char** json);

/**
 * Writes to *json why the compilation is as it is: each operation's device, and for every other
 * device why not; the partitions with their predicted cost and what their executions have taken so
 * far; everything that went another way than planned, with its causes. It is the document of
 * `halyard explain --json`, described there. UTF-8, ends in a NUL.
 *
 * May be called for a compilation whose finish has succeeded or failed, also while its executions
 * run; before finish the report is empty. One thread at a time while the compilation is finished.
 *
 * @param json receives a string of the caller's, to be released with halyard_free; NULL on failure.
 * @return a ResultCode: UNEXPECTED_NULL if compilation or json is NULL; OUT_OF_MEMORY; else
 *         NO_ERROR.
 */
int halyard_compilationReport(const ANeuralNetworksCompilation* compilation, char** json);

/**
 * Releases what a function of this header allocated for the caller. NULL is allowed.
 */
void halyard_free(void* p);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_HALYARD_H_
