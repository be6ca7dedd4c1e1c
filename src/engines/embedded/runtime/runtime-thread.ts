/**
 * Of threads that open the runtime. It matches the process's command line by a recursive pattern, and an argument of 16.7 kB (a long
 * question, say; 8.5 kB pass) overflows the 4 MB of stack that a thread has otherwise: the process ends without a word.
 */
export const runtimeThread = { stackSizeMb: 64 };
