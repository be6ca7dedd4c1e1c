/** Reasons for which a test may be skipped in CI. Anything else that is skipped there fails the run. */
export const expectedSkips: readonly RegExp[] = [
  // Tests against other people's programs run where an environment variable names them.
  /^set COA_TEST_[A-Z_]+/,
  /^COA_PYTHON names no python with /,
  // Larger weights than those that CI fetches.
  /^COA_WEIGHTS names no folder with qwen/,
  // Files that come from elsewhere and are never committed.
  /benchmark files are not on this machine/,
  /published logs are not on this machine/,
  /stories260K/,
  // Frameworks that the recorder is tried on, and clients of the server, have packages of their own.
  /npm install --prefix test\/(?:frameworks|clients)$/,
  // What only some machines can show.
  /^no old Node on this machine$/,
  /^no Bun for this platform, or no registry/,
  /^no Chromium on this machine$/,
  /^no PDF installed$/,
  /documentation pages installed$/,
  /^no group can be made here$/,
  /one loopback address/,
  /^not root$/,
  /^no file system can be mounted here$/,
  /^only root can become a normal user$/,
  /^other users can.t read this folder$/,
];
