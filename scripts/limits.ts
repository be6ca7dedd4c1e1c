/**
 * The limits of the house, printed and enforced by `npm run check`. A ratchet: a limit may fall in any commit and rises only
 * in a commit that changes nothing but this file and adds a decision to docs/decisions/.
 */
export const limits = {
  /** Lines of code by folder, without tests: TypeScript, CSS, JavaScript and Python as their formatters leave them. */
  "lines of src": 85389,
  "lines of bench": 12000,
  "lines of integrations": 700,
  "lines of recipes": 1600,
  "lines of python": 900,
  commands: 43,
  "distinct flags": 117,
  "most flags of a command": 30,
  "reads of meta": 0,
  "as never": 10,
  /** Names that users can import, and types of public signatures that they can't. */
  "public names": 280,
  "forgotten exports": 0,
  /** A production install: what every user gets, without optional peers. */
  "megabytes installed": 40,
} satisfies Record<string, number>;

/** What a limit is about. */
export type LimitName = keyof typeof limits;
