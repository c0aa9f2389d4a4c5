// SPDX-License-Identifier: Apache-2.0
//
// Halyard's own additions to NNAPI, as a C99 header. Library: libhalyard.so. Thread safety: every
// function may be called from any thread at any time. Ownership: each comment names the owner of a
// result.

#ifndef HALYARD_HALYARD_H_
#define HALYARD_HALYARD_H_

#include <stdint.h>

#include <android/NeuralNetworksTypes.h>

#ifdef __cplusplus
extern "C" {
#endif

// A library built with -fvisibility=hidden exports these too.
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/**
 * The reason of the failure of the calling thread's last NNAPI call: UTF-8, never NULL. Empty if
 * that call succeeded, or if the thread has made no call.
 *
 * The string belongs to the library and is valid until the thread's next NNAPI call. Of the
 * functions of this header, only halyard_compilationSetCachingFromFds counts as an NNAPI call. The
 * others do not change the text.
 */
const char* halyard_lastErrorText(void);

/**
 * The ResultCode of the calling thread's last NNAPI call. halyard_lastErrorText() explains it.
 * ANEURALNETWORKS_NO_ERROR if that call succeeded, or if the thread has made no call.
 */
int halyard_lastErrorCode(void);

/**
 * The version of Halyard, "MAJOR.MINOR.PATCH", e.g. "0.3.0". A constant of the library.
 */
const char* halyard_version(void);

/**
 * Writes the id of the driver's process to *pid. It is the caller's own for a driver within this
 * process, and 0 while the driver's process is not running. The driver may die or be started again
 * at any time, so this is a snapshot.
 *
 * @return a ResultCode: UNEXPECTED_NULL if device or pid is NULL, else NO_ERROR.
 */
int halyard_deviceProcessId(const ANeuralNetworksDevice* device, int64_t* pid);

/**
 * Writes to *json the output of `halyard devices --json`. It has all devices, and all driver
 * manifests that could not be used, each with the reason. UTF-8, ends in a NUL.
 *
 * @param json receives a string that the caller releases with halyard_free; NULL on failure.
 * @return a ResultCode: UNEXPECTED_NULL if json is NULL; OUT_OF_MEMORY; else NO_ERROR.
 */
int halyard_devicesJson(char** json);

/**
 * Writes to *json the decisions of the compilation and their reasons. It has each operation's
 * device, and the reasons against every other device. It has the partitions with their predicted
 * cost and their measured times so far. It has every deviation from the plan, with its causes. It
 * is the document of `halyard explain --json`, described there. UTF-8, ends in a NUL.
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
 * Writes how many files of each kind the device needs to cache a compilation: 0 to 32. If both
 * numbers are 0, the device does not cache. For halyard_compilationSetCachingFromFds.
 *
 * @return a ResultCode: UNEXPECTED_NULL if an argument is NULL; BAD_DATA if device is invalid; else
 *         NO_ERROR.
 */
int halyard_deviceCacheFiles(const ANeuralNetworksDevice* device, uint32_t* modelCacheCount,
                             uint32_t* dataCacheCount);

/**
 * As ANeuralNetworksCompilation_setCaching, for files that the application has opened itself, in
 * place of a folder. The compilation must have been created for exactly one device, by
 * ANeuralNetworksCompilation_createForDevices. Of several calls of the two functions the last
 * counts.
 *
 * If the driver has saved the compilation in the files earlier, under the same token, finish loads
 * it. Otherwise finish compiles the model and overwrites the files. As long as the application does
 * not change the files, it gets the saved compilation or a fresh one. If it changes them, or if two
 * compilations share them at once, it gets a fresh one. Useless files, for example on a full disk,
 * never make finish fail: halyard_compilationReport explains them.
 *
 * A model that the device computes in several parts is not cached this way, since the files are for
 * one part. An example is control flow that the device does not support as a whole.
 *
 * @param modelCache the descriptors of as many regular files as halyard_deviceCacheFiles says, each
 *                   open for reading and writing, of any content and offset; may be NULL if their
 *                   number is 0. They stay the caller's and may be closed as soon as this returns.
 *                   Duplicates of them stay open until the compilation is freed, or longer if the
 *                   driver still writes.
 * @param dataCache  the same for the data cache.
 * @param token      ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN bytes that distinguish the model from
 *                   all others in these files; copied.
 * @return a ResultCode, with halyard_lastErrorText(): UNEXPECTED_NULL if compilation or token is
 *         NULL; BAD_STATE if the compilation is finished; BAD_DATA if it is for several devices,
 *         for another number of files, or if a descriptor is not as above; else NO_ERROR.
 */
int halyard_compilationSetCachingFromFds(ANeuralNetworksCompilation* compilation,
                                         const int* modelCache, uint32_t modelCacheCount,
                                         const int* dataCache, uint32_t dataCacheCount,
                                         const uint8_t* token);

/**
 * Repeats every `interval`-th execution of the compilation on the CPU device, in the background and
 * with copies of its inputs, and compares the results. 0 repeats no execution. Without this call,
 * the environment variable HALYARD_SHADOW gives the interval. A driver with wrong results is not
 * used any more in this process. Later compilations and executions go to other devices, or fail if
 * the application has named that one. halyard_compilationReport shows it.
 *
 * ANeuralNetworksCompilation_free waits for the verification of earlier executions.
 *
 * @return a ResultCode, with halyard_lastErrorText(): UNEXPECTED_NULL if compilation is NULL;
 *         BAD_STATE if the compilation is finished; else NO_ERROR.
 */
int halyard_compilationSetShadow(ANeuralNetworksCompilation* compilation, uint32_t interval);

/**
 * Begins a trace: from now on this process and the processes of its drivers record their work. Each
 * records at most `slices` slices of time (128 bytes of memory each; 0: 65536; at most 1048576).
 * Further slices are counted, not recorded. The record of an earlier trace is dropped. Drivers
 * without support for traces are left out, and the trace says so. Waits until the drivers record.
 *
 * The environment variable HALYARD_TRACE=FILE does the same at the first NNAPI call. When the
 * process exits, it writes halyard_traceJson to FILE. "%p" in FILE stands for the process's id. It
 * is ignored under elevated privileges.
 *
 * @return a ResultCode: BAD_STATE while a trace runs; BAD_DATA for too many slices; OUT_OF_MEMORY;
 *         else NO_ERROR.
 */
int halyard_traceStart(uint32_t slices);

/**
 * Ends the trace. Its record is kept until the next trace begins.
 *
 * @return a ResultCode: BAD_STATE when no trace runs; else NO_ERROR.
 */
int halyard_traceStop(void);

/**
 * Writes the record to *json, also while the trace runs. It is a document of Chrome's Trace Event
 * Format, which ui.perfetto.dev opens, with all processes on one clock. docs/profiling.md describes
 * it. The record of a driver is there even if the driver has crashed since. UTF-8, ends in a NUL.
 *
 * @param json receives a string of the caller's, to be released with halyard_free; NULL on failure.
 * @return a ResultCode: UNEXPECTED_NULL if json is NULL; BAD_STATE when there has been no trace;
 *         OUT_OF_MEMORY; else NO_ERROR.
 */
int halyard_traceJson(char** json);

/**
 * Writes to *json the times of the compilation's operations and partitions in the trace, each with
 * its device and process. It also has the times of the whole process by layer and phase. It is the
 * document of `halyard profile --json`, described in docs/profiling.md. UTF-8, ends in a NUL.
 *
 * @param json receives a string of the caller's, to be released with halyard_free; NULL on failure.
 * @return a ResultCode: UNEXPECTED_NULL if compilation or json is NULL; BAD_STATE when there has
 *         been no trace, or the compilation has not been finished with success; OUT_OF_MEMORY; else
 *         NO_ERROR.
 */
int halyard_compilationProfile(const ANeuralNetworksCompilation* compilation, char** json);

/** The activity of an application, for halyard_traceBegin. */
typedef enum {
  HALYARD_PHASE_OVERALL = 0,     /**< a whole run; times are reported for each */
  HALYARD_PHASE_WARMUP = 1,      /**< executions that do not count */
  HALYARD_PHASE_BENCHMARK = 2,   /**< executions that count */
  HALYARD_PHASE_PREPARATION = 4, /**< reading models, making memory */
  HALYARD_PHASE_COMPILATION = 5,
  HALYARD_PHASE_EXECUTION = 6,
  HALYARD_PHASE_TERMINATION = 7,
} HalyardPhase;

/**
 * Begins a slice of the application's own in the trace. It belongs to the calling thread, and lasts
 * until the matching halyard_traceEnd. Slices nest, 32 deep at most; deeper ones are not recorded.
 * `text` is copied, up to 71 bytes of it; NULL is an empty text. Costs a few nanoseconds while no
 * trace runs. An invalid phase counts as HALYARD_PHASE_OVERALL.
 */
void halyard_traceBegin(int32_t phase, const char* text);

/** Ends the thread's last open slice, if there is one. */
void halyard_traceEnd(void);

/**
 * Releases memory that a function of this header allocated for the caller. NULL is allowed.
 */
void halyard_free(void* p);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_HALYARD_H_
