// SPDX-License-Identifier: Apache-2.0
//
// The feature level of builds that carry experimental features. Halyard offers none today.
// Thread safety: constants.
// Ownership: none.

#ifndef HALYARD_ANDROID_NEURAL_NETWORKS_EXPERIMENTAL_FEATURES_H_
#define HALYARD_ANDROID_NEURAL_NETWORKS_EXPERIMENTAL_FEATURES_H_

#ifdef __cplusplus
extern "C" {
#endif

/** Continues FeatureLevelCode. */
typedef enum {
  /** Above every numbered feature level; only a build with experimental features reports it. */
  ANEURALNETWORKS_FEATURE_LEVEL_EXPERIMENTAL = 0x7FFFFFFF,
} ExperimentalFeatureLevelCode;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HALYARD_ANDROID_NEURAL_NETWORKS_EXPERIMENTAL_FEATURES_H_
