// SPDX-License-Identifier: Apache-2.0
/** Long work in slices: between two of them the browser draws, and hears what the reader does. */

/** Ends the present task; what follows is done in another one. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
