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
 * of this header do not count as such, but for halyard_compilationSetCachingFromFds: they leave the
 * text as it is.
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
 * Writes how many files of each kind the device needs to cache a compilation: 0 to 32 of each, and
 * no caching at all if both are 0. For halyard_compilationSetCachingFromFds.
 *
 * @return a ResultCode: UNEXPECTED_NULL if an argument is NULL; BAD_DATA if device is none; else
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
 * In finish, the compilation is taken from the files if the driver has saved it there earlier under
 * the same token; otherwise the model is compiled and the files are overwritten. As long as the
 * application does not change the files, it gets back what was saved or a fresh compilation; if it
 * does, or if two compilations share them at once, a fresh one. Files that are no use, for example
 * on a full disk, never make finish fail: halyard_compilationReport tells what became of them.
 *
 * A model that the device computes in several parts (control flow that it does not take as a whole)
 * is not cached this way, as the files are for one.
 *
 * @param modelCache the descriptors of as many regular files as halyard_deviceCacheFiles says, each
 *                   open for reading and writing, of any content and offset; may be NULL if there
 *                   are none. They stay the caller's and may be closed as soon as this returns;
 *                   duplicates of them stay open until the compilation is freed, or longer if the
 *                   driver still writes.
 * @param dataCache  likewise.
 * @param token      ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN bytes that tell the model from all
 *                   others that are kept in these files; copied.
 * @return a ResultCode, with halyard_lastErrorText(): UNEXPECTED_NULL if compilation or token is
 *         NULL; BAD_STATE if the compilation is finished; BAD_DATA if it is for several devices,
 *         for another number of files, or if a descriptor is not as above; else NO_ERROR.
 */
int halyard_compilationSetCachingFromFds(ANeuralNetworksCompilation* compilation,
                                         const int* modelCache, uint32_t modelCacheCount,
                                         const int* dataCache, uint32_t dataCacheCount,
                                         const uint8_t* token);

/**
 * Has every `interval`-th execution of the compilation repeated on the CPU device, in the
 * background and with copies of what it has read, and its results compared; 0 for none. Without
 * this call the environment variable HALYARD_SHADOW says the interval. A driver whose results are
 * wrong is not used any more in this process: later compilations and executions go to other
 * devices, or fail where the application has named that one. halyard_compilationReport tells of it.
 *
 * ANeuralNetworksCompilation_free waits for the verification of what has been executed.
 *
 * @return a ResultCode, with halyard_lastErrorText(): UNEXPECTED_NULL if compilation is NULL;
 *         BAD_STATE if the compilation is finished; else NO_ERROR.
 */
int halyard_compilationSetShadow(ANeuralNetworksCompilation* compilation, uint32_t interval);

/**
 * Begins a trace: from now on this process and the processes of its drivers record what they do, at
 * most `slices` slices of time in each (128 bytes of memory; 0: 65536; at most 1048576). What comes
 * when that is full is counted, not recorded. What an earlier trace has recorded is forgotten.
 * Drivers that know of no traces are left out, and the trace says so. Waits until the drivers know.
 *
 * The environment variable HALYARD_TRACE=FILE does the same at the first NNAPI call and writes
 * halyard_traceJson to FILE when the process exits; "%p" in FILE stands for the process's id. It is
 * ignored under elevated privileges.
 *
 * @return a ResultCode: BAD_STATE while a trace runs; BAD_DATA for too many slices; OUT_OF_MEMORY;
 *         else NO_ERROR.
 */
int halyard_traceStart(uint32_t slices);

/**
 * Ends the trace. What has been recorded is kept until the next begins.
 *
 * @return a ResultCode: BAD_STATE when no trace runs; else NO_ERROR.
 */
int halyard_traceStop(void);

/**
 * Writes to *json what has been recorded, also while the trace runs: a document of Chrome's Trace
 * Event Format, which ui.perfetto.dev opens, with all processes on one clock. docs/profiling.md
 * describes it. What a driver has recorded is there even if it has crashed since. UTF-8, ends in a
 * NUL.
 *
 * @param json receives a string of the caller's, to be released with halyard_free; NULL on failure.
 * @return a ResultCode: UNEXPECTED_NULL if json is NULL; BAD_STATE when there has been no trace;
 *         OUT_OF_MEMORY; else NO_ERROR.
 */
int halyard_traceJson(char** json);

/**
 * Writes to *json what the compilation's operations and partitions have taken in the trace, each
 * with the device and the process that computed it, and the times of the whole process by layer and
 * phase. It is the document of `halyard profile --json`, described in docs/profiling.md. UTF-8,
 * ends in a NUL.
 *
 * @param json receives a string of the caller's, to be released with halyard_free; NULL on failure.
 * @return a ResultCode: UNEXPECTED_NULL if compilation or json is NULL; BAD_STATE when there has
 *         been no trace, or the compilation has not been finished with success; OUT_OF_MEMORY; else
 *         NO_ERROR.
 */
int halyard_compilationProfile(const ANeuralNetworksCompilation* compilation, char** json);

/** What an application is doing, for halyard_traceBegin. */
typedef enum {
  HALYARD_PHASE_OVERALL = 0,     /**< a whole run; times are reported for each */
  HALYARD_PHASE_WARMUP = 1,      /**< executions that are not to count */
  HALYARD_PHASE_BENCHMARK = 2,   /**< executions that count */
  HALYARD_PHASE_PREPARATION = 4, /**< reading models, making memory */
  HALYARD_PHASE_COMPILATION = 5,
  HALYARD_PHASE_EXECUTION = 6,
  HALYARD_PHASE_TERMINATION = 7,
} HalyardPhase;

/**
 * A slice of the application's own in the trace: of the calling thread, up to the matching
 * halyard_traceEnd. Slices nest, 32 deep at most; deeper ones are not recorded. `text` is copied,
 * up to 71 bytes of it; NULL is an empty one. Costs a few nanoseconds while no trace runs. A phase
 * that is none is one of HALYARD_PHASE_OVERALL.
 */
void halyard_traceBegin(int32_t phase, const char* text);

/** Ends the thread's last slice that has not ended; does nothing when there is none. */
void halyard_traceEnd(void);

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
