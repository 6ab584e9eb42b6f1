// SPDX-License-Identifier: Apache-2.0
/** Long work in slices, between which the browser draws and handles input. */

/** End the current task; the code after it runs in another one. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
